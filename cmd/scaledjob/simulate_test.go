package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const workload = "simulate -f testdata/manifest.yaml --arrivals poisson:0.3/s --service exp:45s --startup 20s --duration 20m "

// simulated writes a file, and returns what is in it.
func simulated(t *testing.T, flags, file string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	status, out, said := call(t, workload+flags+" -o "+path, "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, "written: "+path)
	require.Empty(t, said, "no progress bar, but on a terminal")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// The same command gives the same bytes, whatever it writes.
func TestSimulateIsReproducible(t *testing.T) {
	for _, file := range []string{"a.html", "a.json"} {
		first := simulated(t, "--compare default,accurate", file)
		require.Equal(t, first, simulated(t, "--compare default,accurate", file), file)
		require.NotEqual(t, first, simulated(t, "--compare default,accurate --seed 2", file), file)
	}
}

func TestSimulateFiles(t *testing.T) {
	const flags = "--compare default,accurate,2.18,eager@2.21"
	var all struct {
		Policies []struct{ Name, Release string }
		Study    struct{ Samples []json.RawMessage }
		Verdict  []string
	}
	require.NoError(t, json.Unmarshal(simulated(t, flags, "run.json"), &all))
	require.Len(t, all.Study.Samples, 4)
	require.Equal(t, "2.18.3", all.Policies[2].Release)
	require.Equal(t, "2.21.0", all.Policies[3].Release)
}

// The file that --help-scenario prints is a scenario, and each wrong line of one is
// named.
func TestScenarioFile(t *testing.T) {
	_, help, _ := call(t, "simulate --help-scenario", "")
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	play := func(text string) (int, string, string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return call(t, "simulate --scenario "+file, "")
	}
	status, out, said := play(help)
	require.Equal(t, success, status, said)
	require.Contains(t, out, "accurate, max 50")
	line := func(of string) string {
		before, _, found := strings.Cut(help, of)
		require.True(t, found, of)
		return file + ":" + strconv.Itoa(1+strings.Count(before, "\n")) + ": "
	}
	for from, to := range map[string][2]string{
		"exp:30s": {"exp:30", "a number and a unit, such as 30s"}, "maxDeliveries: 3": {"maxDeliveries: -3", "use 0 or more"},
		"staleness": {"stalenes", "stalenes: found an unknown field; use staleness"}, "backoffLimit: 6": {"backoffLimit: x", ": jobs.backoffLimit: found \"x\"; use a whole number of 64 bits\n"},
		"release: spec ": {"release: kedo ", `policy.release: found "kedo"; use 2.0 to`}, "capacity: 20": {"capacity: -1", "clusters[0].capacity"},
	} {
		status, _, said := play(strings.Replace(help, from, to[0], 1))
		require.Equal(t, trouble, status)
		require.Contains(t, said, line(from), to[0])
		require.Contains(t, said, to[1], to[0])
	}
	both := strings.NewReplacer("maxDeliveries: 3", "maxDeliveries: -3", "capacity: 20", "capacity: -1").Replace(help)
	_, _, said = play(both)
	require.Equal(t, 2, strings.Count(said, file+":"), "all at once")
	_, _, said = play("")
	require.Contains(t, said, "empty; see scaledjob simulate --help-scenario")
	_, _, said = play("queues: [")
	require.Contains(t, said, file+":1: invalid YAML")
}

// A scenario's errors come all at once, each at the line of its own value: of the wrong
// types, the unknown fields and the values that make no sense. No error is about a value
// that could not be read.
func TestScenarioErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"name: 30x\nduration: 1h\nqueues:\n- arrivals: poisson:1/s\n  service: 30x\n": {`5: queues[0].service: found "30x"; use`},
		"duration: 90\nstaleness: 5s\nqueues:\n- arrivals: poisson:1/s\n  staleness: 3s\n  bogus: 1\njobs:\n  staleness: 1s\n  backof: 3\n  backoffLimit: -1\n" +
			"clusters:\n- capacity: x\n- outages: {}\nseed: -1\n": {
			`1: duration: found 90; use a number and a unit`, `2: staleness: found an unknown field`, `6: queues[0].bogus: found an unknown field; use one of`, `8: jobs.staleness: found an unknown field`,
			`9: jobs.backof: found an unknown field; use backoff`, "10: jobs.backoffLimit: found -1; use 0 or more", `12: clusters[0].capacity: found "x"; use a whole number`,
			"13: clusters[1].outages: found an object; use a list", "14: seed: found -1; use a whole number of 0 to 18446744073709551615",
		},
		"duration: 1h\nqueues:\n- arrivals: poisson:1/s\n  metric: some\n- arrivals: poisson:1/q\njobs: {drainQueue: 3}\npolicy:\n  release: \"1.9\"\n" +
			"  spec: {pollingInterval: -3,\n    maxReplicaCount: 99999999999}\n  stuckAfter: -1s\n": {
			`4: queues[0].metric: found "some"; use all, waiting or active`, `5: queues[1].arrivals: found "poisson:1/q"; use items and a time`, "6: jobs.drainQueue: found 3; use true or false",
			`8: policy.release: found "1.9"; use`, "9: policy.spec.pollingInterval: found -3; use 1 or more",
			"10: policy.spec.maxReplicaCount: found 99999999999; use a whole number of 32 bits", "11: policy.stuckAfter: found -1s; use 0s or more",
		},
		"duration: 1h\nx: &c {service: 5q,\n  target: -3}\nqueues:\n- <<: *c\n  arrivals: poisson:1/s\n- service: [1]\n  target: a\n": {
			`2: x: found an unknown field`, `2: queues[0].service: found "5q"; use`, "3: queues[0].target: found -3; use", "7: queues[1].service: found a list; use",
			`8: queues[1].target: found "a"; use a number`,
		},
		"duration: 1h\nduration: 2h\nDuration: 3h\nqueues: [{arrivals: 'poisson:1/s'}]\njobs: 3\n": {"2: duration: found the field twice; use it once", `3: Duration: found an unknown field; use duration`, "5: jobs: found 3; use an object"},
		"queues: [{arrivals: 'poisson:1/s'}]\nduration: 1h\n---\nname: a\n":                        {"4: found a second document; use one"},
		"duration: 1h\nqueues:\n- arrivals: poisson:1/s\n  service: &s 5x\n- name: b\n  service: *s\n  target: -1\n": {
			`4: queues[0].service: found "5x"; use`, `4: queues[1].service: found "5x"; use`, "7: queues[1].target: found -1; use",
		},
		"name: a\nDuration: -1h\nqueues: [{}]\n": {`2: Duration: found an unknown field; use duration`},
		"[]":                                     {"1: document: found a list; use an object"},
		"duration: 1h\nqueues: [{arrivals: 'poisson:1/s'}]\npolicy:\n  release: \"2.21\"\n  stuckAfter: 1m\n  minAsFloor: true\n  subtractPending: true\n  placement: {}\n": {
			"5: policy.stuckAfter: found 1m; use nothing under KEDA 2.21.0, or release: spec", "6: policy.minAsFloor", "7: policy.subtractPending", "8: policy.placement: found a placement",
		},
	} {
		file := written(t, "scenario.yaml", text)
		status, _, said := call(t, "simulate --seeds 1 --scenario "+file, "")
		require.Equal(t, trouble, status, text)
		lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
		require.Len(t, lines, len(want), said)
		for i := range want {
			require.Contains(t, lines[i], "scaledjob: "+file+":"+want[i])
		}
	}
}

// A report opened in a browser: no errors, no requests, and every picture is seen,
// on a desk and on a phone, in light and dark surroundings, and printed from the dark.
func TestReportInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	pages := map[string][]byte{
		"/search":   simulated(t, "--compare default,accurate,eager --search --objective p95<10m,peak<=40", "report.html"),
		"/many":     simulated(t, "--compare default,accurate,eager,2.4,default@2.18,accurate@2.18,eager@2.18", "report.html"),
		"/recorded": simulated(t, "--service recorded:"+strings.Repeat("30s,1m,2m30s,", 100)+"5s", "report.html"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := pages[r.URL.Path]; page != nil {
			w.Write(page)
		} else {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	for _, width := range []int64{1280, 768, 390} {
		for _, scheme := range []string{"light", "dark", "print"} {
			for path, page := range pages {
				require.NotContains(t, string(page), "<script")
				opened(t, allocator, server.URL+path, width, scheme)
			}
		}
	}
}

// A layout is what a browser measures of a page.
type layout struct {
	Charts  int     `json:"charts"`
	Right   float64 `json:"right"`
	Scroll  float64 `json:"scroll"`
	Paper   string  `json:"paper"`
	Overlap string  `json:"overlap"` // texts of one chart that overlap
	Small   float64 `json:"small"`   // the smallest text, in pixels
}

func command[P, R any](ctx context.Context, c cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, c, params)
	return err
}

func opened(t *testing.T, allocator context.Context, url string, width int64, scheme string) {
	t.Helper()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var mu sync.Mutex
	var requests, problems []string
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "data:") {
				requests = append(requests, e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			problems = append(problems, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			problems = append(problems, string(e.Type))
		}
	}))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if scheme == "print" {
		media.Media, media.Features[0].Value = scheme, "dark"
	}
	for _, err := range []error{
		command(ctx, network.Enable, network.EnableParams{}),
		command(ctx, runtime.Enable, cdp.Empty{}),
		command(ctx, emulation.SetEmulatedMedia, media),
		chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url)),
	} {
		require.NoError(t, err)
	}
	seen, err := chromedp.Run(ctx, chromedp.Evaluate[layout](`(() => {
		const charts = [...document.querySelectorAll("svg.chart")];
		let overlap = "", small = 1000;
		for (const c of charts) {
			const texts = [...c.querySelectorAll("text")].map(e => ({text: e.textContent, box: e.getBoundingClientRect()}));
			texts.forEach((a, i) => {
				small = Math.min(small, a.box.height);
				if (a.text.includes("…")) overlap += a.text + " is cut; ";
				if (a.box.right > c.getBoundingClientRect().right || a.box.left < c.getBoundingClientRect().left)
					overlap += a.text + " and the edge; ";
				for (const b of texts.slice(i + 1))
					if (a.box.left < b.box.right && b.box.left < a.box.right && a.box.top + 2 < b.box.bottom - 2 && b.box.top + 2 < a.box.bottom - 2)
						overlap += a.text + " and " + b.text + "; ";
			});
		}
		return {charts: charts.length, right: Math.max(...charts.map(c => c.getBoundingClientRect().right)), scroll: document.documentElement.scrollWidth,
			paper: getComputedStyle(document.body).backgroundColor, overlap: overlap, small: small} })()`))
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, requests, 1, "the page itself: %s", requests)
	require.Empty(t, problems)
	require.Equal(t, 2, seen.Charts, "items and Jobs, at %d in %s", width, scheme)
	require.LessOrEqual(t, seen.Right, float64(width))
	require.LessOrEqual(t, seen.Scroll, float64(width), "nothing is cut off")
	require.Empty(t, seen.Overlap, "at %d", width)
	require.GreaterOrEqual(t, seen.Small, 8.0, "at %d", width)
	require.Equal(t, map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)", "print": "rgb(255, 255, 255)"}[scheme], seen.Paper)
}

// A report of a scenario file has it, with whatever does not work in it.
func TestReportHasTheScenario(t *testing.T) {
	text := "duration: 20m\nqueues: [{name: redis, arrivals: poisson:0.3/s, service: exp:45s, staleness: 15s, outages: [{from: 1m, until: 2m}]}]\n"
	path := filepath.Join(t.TempDir(), "r.html")
	status, _, said := call(t, "simulate --scenario "+written(t, "faults.yaml", text)+" --seeds 1 -o "+path, "")
	require.Equal(t, success, status, said)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(page), "<h2>Assumed</h2>\n<pre>"+text+"</pre>")
	require.Contains(t, string(page), "Numbers: one run; the first seed is 0.")
}

// A shell that runs the printed command passes the same words.
func TestRepeatedCommand(t *testing.T) {
	for _, name := range []string{"it's.yaml", "a b.yaml", `a"b$HOME.yaml`, "~a;b&c|d*?.yaml", `a\b.yaml`} {
		file := filepath.Join(t.TempDir(), name)
		data, err := os.ReadFile("testdata/manifest.yaml")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), []string{"simulate", file, "--arrivals", "constant:1/m", "--duration", "2m", "--seeds", "1", "-o", "json"}, nil, &stdout, &stderr)
		require.Equal(t, success, status, stderr.String())
		var r struct{ Command string }
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &r))
		words, err := exec.Command("sh", "-c", "printf '%s\n' "+r.Command).Output()
		require.NoError(t, err, r.Command)
		require.Equal(t, "scaledjob\nsimulate\n--arrivals=constant:1/m\n--duration=2m0s\n--seeds=1\n"+file+"\n", string(words))
	}
}

// A scenario says all itself: what a flag would say instead is not passed over.
func TestScenarioOverrules(t *testing.T) {
	status, _, said := call(t, "simulate --scenario testdata/troubles/overshoots.yaml --seed 7 --service 1h", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "both --scenario and --service, --seed")
}
