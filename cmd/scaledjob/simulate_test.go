package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"image"
	_ "image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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

	"github.com/scaledjob/scaledjob/simulation"
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
	for _, file := range []string{"a.html", "a.svg", "a.png", "a.csv", "a.json"} {
		first := simulated(t, "--compare default,accurate", file)
		require.Equal(t, first, simulated(t, "--compare default,accurate", file), file)
		require.NotEqual(t, first, simulated(t, "--compare default,accurate --seed 2", file), file)
	}
}

func TestSimulateFiles(t *testing.T) {
	const flags = "--compare default,accurate,keda@2.18,eager@keda@2.21"
	rows, err := csv.NewReader(bytes.NewReader(simulated(t, flags, "run.csv"))).ReadAll()
	require.NoError(t, err)
	var all struct {
		Results []struct {
			Policy struct{ Name, As string }
			Ticks  []json.RawMessage
		}
		Verdict string
	}
	require.NoError(t, json.Unmarshal(simulated(t, flags, "run.json"), &all))
	polls := 1
	for _, r := range all.Results {
		polls += len(r.Ticks)
	}
	require.Len(t, rows, polls, "a line for each poll, and the header")
	require.Len(t, all.Results, 4)
	require.Equal(t, "keda@2.18.3", all.Results[2].Policy.As)
	require.Equal(t, "keda@2.21.0", all.Results[3].Policy.As)
	picture, format, err := image.Decode(bytes.NewReader(simulated(t, flags, "run.png")))
	require.NoError(t, err)
	require.Equal(t, "png", format)
	require.Equal(t, image.Pt(1920, 4*480), picture.Bounds().Size(), "a row for each policy")
	svg := string(simulated(t, flags, "run.svg"))
	for _, text := range []string{"default", "accurate", "minutes", "items", "Jobs", "running", "pending"} {
		require.Contains(t, svg, text)
	}
}

// The verdict names the strategy and its formula.
func TestVerdict(t *testing.T) {
	for flags, want := range map[string][]string{
		"--metric all --compare default,accurate":     {"accurate creates Jobs twice for the same items", "T - P", "default wastes least"},
		"--metric waiting --compare default,accurate": {"default starves", "T - R", "accurate lets items wait least"},
		"--metric waiting --compare accurate,accurate": {
			"the policies do the same"},
		"--metric all": {"no trouble with this workload"},
	} {
		status, out, said := call(t, workload+flags, "")
		require.Equal(t, success, status, said)
		for _, text := range want {
			require.Contains(t, out, text, flags)
		}
	}
}

func TestSearch(t *testing.T) {
	_, out, _ := call(t, workload+"--search", "")
	require.Contains(t, out, "Of 72 policies tried")
	require.Contains(t, string(simulated(t, "--search", "r.html")), "Wait against cost")
	svg := string(simulated(t, "--search", "front.svg"))
	require.Contains(t, svg, "wait p95, seconds")
	require.Contains(t, svg, "nothing beats these")
}

func TestTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queue.csv")
	trace := func(text string) (int, string, string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return call(t, "simulate -f testdata/manifest.yaml --service 10s --startup 0s --trace "+file+" -o json", "")
	}
	status, out, said := trace("time,items,service\n0,3,\n1m30s,2,5s\n")
	require.Equal(t, success, status, said)
	require.Contains(t, out, `"arrived":5,"done":5`)
	for text, want := range map[string]string{
		"":                  "nothing in it: want the columns time and items",
		"when,items\n1,2\n": `:1: found the column "when": want time, items and service`,
		"items\n1\n":        ":1: no column time",
		"time,items\n1,x\n": `:2: items: found "x": want a whole number of 1 or more`,
		"time,items\n1\n":   "wrong number of fields",
		"time\n1\nsoon\n":   `:3: time: found "soon": want seconds, or a duration`,
		"time\n-1\n":        `:2: time: found "-1"`,
	} {
		status, _, said := trace(text)
		require.Equal(t, trouble, status)
		require.Contains(t, said, want, text)
	}
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
		return file + ":" + itoa(1+strings.Count(before, "\n")) + ": "
	}
	for from, to := range map[string][2]string{
		"exp:30s": {"exp:30", "is no duration"}, "maxDeliveries: 3": {"maxDeliveries: -3", "want 0 or more"},
		"staleness": {"stalenes", `unknown field "stalenes"`}, "backoffLimit: 6": {"backoffLimit: x", "cannot unmarshal"},
		"as: core ": {"as: kedo ", "policy.as is kedo: want core"}, "capacity: 20": {"capacity: -1", "clusters[0].capacity"},
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
	require.Contains(t, said, "nothing in it")
	_, _, said = play("queues: [")
	require.Contains(t, said, file+": yaml: line 1")
}

func itoa(n int) string {
	data, _ := json.Marshal(n)
	return string(data)
}

func TestSimulateWrong(t *testing.T) {
	for flags, want := range map[string]string{
		"":                          "no manifest",
		"-f testdata/manifest.yaml": "nothing arrives: want --arrivals poisson:2/s, or --trace queue.csv",
		"-f testdata/manifest.yaml --arrivals often":                                `--arrivals "often"`,
		"-f testdata/manifest.yaml --arrivals poisson:1/s --service soon":           `--service "soon"`,
		"-f testdata/manifest.yaml --arrivals kafka=poisson:1/s":                    `no trigger is called "kafka": want redis`,
		"-f testdata/manifest.yaml --arrivals poisson:1/s --arrivals poisson:1/s":   "there are only the triggers redis",
		"-f testdata/manifest.yaml --arrivals poisson:1/s --metric some":            "queues[0].metric",
		"-f testdata/manifest.yaml --arrivals poisson:1/s --compare keda@9":         "--compare keda@9",
		"-f testdata/manifest.yaml --arrivals poisson:1/s --compare best":           "best",
		"-f testdata/manifest.yaml --arrivals poisson:1/s -o run.gif":               "want a file that ends with .html",
		"-f testdata/manifest.yaml --arrivals poisson:1/s -o testdata/gone/run.csv": "no such file",
		"-f testdata/manifest.yaml --trace gone.csv":                                "gone.csv: no such file",
		"-f testdata/two.yaml --arrivals poisson:1/s --target 3":                    "2 ScaledJobs: want --name",
		"--scenario gone.yaml": "gone.yaml: no such file",
		"-f testdata/manifest.yaml --scenario testdata/manifest.yaml":                      "both --scenario and -f",
		"-f testdata/manifest.yaml --arrivals often --service soon --startup x --seed 3 ":  "startup",
		"-f testdata/manifest.yaml --arrivals poisson:1/s --duration 0s":                   "duration",
		"-f testdata/two.yaml --name both --arrivals poisson:1/s --target a --metric some": "--target",
	} {
		status, out, said := call(t, "simulate "+flags, "")
		require.Equal(t, trouble, status, flags)
		require.Contains(t, said, want, flags)
		require.Empty(t, out, flags)
	}
}

// A report opened in a browser: no errors, no requests, and every picture is seen,
// on a desk and on a phone, in light and dark surroundings.
func TestReportInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	data := simulated(t, "--compare default,accurate,eager --search", "report.html")
	require.NotContains(t, string(data), "<script")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Write(data)
		} else {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			opened(t, allocator, server.URL, width, scheme)
		}
	}
}

// A layout is where the pictures of a page are.
type layout struct {
	Pictures int     `json:"pictures"`
	Right    float64 `json:"right"`
	Scroll   float64 `json:"scroll"`
	Paper    string  `json:"paper"`
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
	for _, err := range []error{
		command(ctx, network.Enable, network.EnableParams{}),
		command(ctx, runtime.Enable, cdp.Empty{}),
		command(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url)),
	} {
		require.NoError(t, err)
	}
	seen, err := chromedp.Run(ctx, chromedp.Evaluate[layout](`(() => {
		const all = [...document.querySelectorAll("svg")].map(s => s.getBoundingClientRect()).filter(r => r.width > 300 && r.height > 100);
		return {pictures: all.length, right: Math.max(...all.map(r => r.right)), scroll: document.documentElement.scrollWidth,
			paper: getComputedStyle(document.body).backgroundColor} })()`))
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, requests, 1, "the page itself: %s", requests)
	require.Empty(t, problems)
	require.Equal(t, 7, seen.Pictures, "two for each of three policies, and the search, at %d in %s", width, scheme)
	require.LessOrEqual(t, seen.Right, float64(width))
	require.LessOrEqual(t, seen.Scroll, float64(width), "nothing is cut off")
	require.Equal(t, map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme], seen.Paper)
}

// A scenario says all itself: what a flag would say instead is not passed over.
func TestScenarioOverrules(t *testing.T) {
	status, _, said := call(t, "simulate --scenario testdata/troubles/overshoots.yaml --seed 7 --service 1h", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "both --scenario and --service, --seed")
}

// Parameters to try are such as a manifest can have, each once.
func TestValues(t *testing.T) {
	require.Equal(t, []int32{1, 2}, values(0, 1, 2))
	require.Equal(t, []int32{math.MaxInt32 / 2, math.MaxInt32}, values(math.MaxInt32/2, math.MaxInt32, 2*math.MaxInt32))
}

// Who is best at each number is said of that number alone, and all who are.
func TestBest(t *testing.T) {
	result := func(strategy string, done int64, wait, idle float64) simulation.Result {
		r := simulation.Result{}
		r.Policy.Name = strategy
		r.Summary.Arrived, r.Summary.Done, r.Summary.IdleSeconds, r.Summary.Wait.P95 = 100, done, idle, wait
		return r
	}
	said := strings.Join(best([]simulation.Result{result("a", 90, 5, 60), result("b", 95, 7, 600), result("c", 80, 5, 90)}), " ")
	require.Contains(t, said, "b leaves the fewest items undone: 5 of 100")
	require.Contains(t, said, "a like c lets items wait least")
	require.Contains(t, said, "a also wastes least: 1m of")
}
