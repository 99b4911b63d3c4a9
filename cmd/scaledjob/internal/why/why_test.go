package why

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// infoOf leaves out the lines that the operator writes at level 1 only.
func infoOf(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"level":"debug"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// pinned compares a text with a file; UPDATE=1 writes the file anew.
func pinned(t *testing.T, file, text string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// TestSituations explains logs of KEDA's operator, which was brought into the situations (e2e, TestSituations), at level 1 and
// at level info if that answer differs.
func TestSituations(t *testing.T) {
	files, err := filepath.Glob("testdata/situations/*.log")
	require.NoError(t, err)
	var golden strings.Builder
	same := 0
	for _, file := range files {
		log, err := os.ReadFile(file)
		require.NoError(t, err)
		text, err := os.ReadFile(strings.TrimSuffix(file, ".log") + ".yaml")
		require.NoError(t, err)
		manifests, err := manifest.Read(text)
		require.NoError(t, err)
		before, causes, name := "", "", strings.TrimSuffix(filepath.Base(file), ".log")
		for _, log := range []string{string(log), infoOf(string(log))} {
			r := Explain(Read(log), Question{Manifests: manifests})
			require.Len(t, r.Subjects, 1, name)
			a := r.Subjects[0]
			require.Zero(t, a.Differ, name)
			all := strings.Join(ids(a), " ")
			if all == causes {
				same++
			}
			causes = all
			if a.Answer != before {
				fmt.Fprintf(&golden, "%s: %s\n", name, all)
				r.Print(&golden)
				before = a.Answer
			}
		}
	}
	require.GreaterOrEqual(t, same, 12, "situations for which level info is enough")
	pinned(t, "testdata/situations.txt", golden.String())
}

func ids(a *Account) (all []string) {
	for _, c := range slices.Concat(a.Causes, a.Also) {
		all = append(all, c.ID)
	}
	return all
}

// poll writes the lines of a poll in the console format.
func pollLines(second int, name string, r, p, created int) (all []string) {
	line := func(message, fields string) {
		all = append(all, fmt.Sprintf("2026-01-02T10:%02d:%02dZ\tINFO\tscaleexecutor\t%s\t{\"scaledJob.Name\": %q, \"scaledJob.Namespace\": \"shop\", %s}",
			second/60, second%60, message, name, fields))
	}
	line("Scaling Jobs", fmt.Sprintf(`"Number of running Jobs": %d`, r))
	line("Scaling Jobs", fmt.Sprintf(`"Number of pending Jobs": %d`, p))
	if created == 0 {
		line("No need to create jobs - all requested jobs already exist", `"jobs": 0`)
		return all
	}
	line("Creating jobs", fmt.Sprintf(`"Effective number of max jobs": %d`, created))
	line("Creating jobs", fmt.Sprintf(`"Number of jobs": %d`, created))
	line("Created jobs", fmt.Sprintf(`"Number of jobs": %d`, created))
	return all
}

func reversed(lines []string) (all []string) {
	for i := range lines {
		all = append(all, lines[len(lines)-1-i])
	}
	return all
}

func each(lines []string, change func(i int, line string) string) (all []string) {
	for i, line := range lines {
		all = append(all, change(i, line))
	}
	return all
}

// TestForms reads the same polls in the forms in which people paste them.
func TestForms(t *testing.T) {
	var lines []string
	lines = append(lines, pollLines(0, "orders", 0, 0, 3)...)
	other := pollLines(5, "mails", 9, 2, 0)
	second := pollLines(30, "orders", 3, 3, 0)
	for i := range second { // interleaved
		lines = append(lines, second[i])
		if i < len(other) {
			lines = append(lines, strings.ReplaceAll(other[i], ":05Z", ":30Z"))
		}
	}
	toJSON := func(_ int, line string) string {
		part := strings.SplitN(line, "\t", 5)
		return fmt.Sprintf(`{"level":"info","ts":%q,"logger":%q,"msg":%q,%s`, part[0], part[2], part[3], part[4][1:])
	}
	forms := map[string][]string{
		"console":  lines,
		"JSON":     each(lines, toJSON),
		"reversed": reversed(lines),
		"kubectl":  each(lines, func(_ int, l string) string { return "[pod/keda-operator-6d5c-x2x/keda-operator] " + l }),
		"stern":    each(lines, func(_ int, l string) string { return "keda-operator-6d5c-x2x keda-operator " + l }),
		"Loki":     each(lines, func(_ int, l string) string { return "2026-01-02 12:00:00.123\t" + l }),
		"in JSON": each(lines, func(_ int, l string) string {
			return fmt.Sprintf(`{"line":%s,"timestamp":"1767348000000"}`, strconv.Quote(toJSON(0, l)))
		}),
		"jq": each(lines, func(_ int, l string) string {
			return strings.NewReplacer(`{`, "{\n  ", `}`, "\n}", `,`, ",\n  ").Replace(toJSON(0, l))
		}),
		"Cloud Logging": each(lines, func(_ int, l string) string {
			return "  {\n    \"insertId\": \"x\",\n    \"jsonPayload\": {\n      " + strings.Trim(toJSON(0, l), "{}") + "\n    },\n    \"severity\": \"INFO\"\n  },"
		}),
		"wrapped":  each(lines, func(_ int, l string) string { return l[:60] + "\n" + l[60:] }),
		"terminal": each(lines, func(_ int, l string) string { l = toJSON(0, l); return l[:90] + "\n" + l[90:] }),
		"CRI":      each(lines, func(_ int, l string) string { return "2026-01-02T12:00:00.123456789Z stdout F " + toJSON(0, l) }),
		"logcli":   each(lines, func(_ int, l string) string { return "2026-01-02T12:00:00Z {app=\"keda-operator\"} " + toJSON(0, l) }),
		"columns": each(lines, func(_ int, l string) string {
			return `2026-01-02 12:00:00.123,"` + strings.ReplaceAll(toJSON(0, l), `"`, `""`) + `",keda-operator-7d9-abc`
		}),
		"CSV":    each(lines, func(_ int, l string) string { return `"` + strings.ReplaceAll(l, `"`, `""`) + `"` }),
		"quoted": each(lines, func(_ int, l string) string { return "> " + l }),
		"fences": append(append([]string{"See:", "```text"}, lines...), "```", "Thanks"),
		"epoch": each(lines, func(i int, l string) string {
			return fmt.Sprintf("%d.25\t%s", 1767348000+i/6*30, strings.SplitN(l, "\t", 2)[1])
		}),
		"no times": each(lines, func(_ int, l string) string { return strings.SplitN(l, "\t", 2)[1] }),
		"spaces":   each(lines, func(_ int, l string) string { return strings.ReplaceAll(l, "\t", "    ") }),
		"CRLF":     each(lines, func(_ int, l string) string { return l + "\r" }),
		"Docker": each(lines, func(_ int, l string) string {
			return fmt.Sprintf(`{"log":%s,"stream":"stderr","time":"2026-01-02T12:00:00Z"}`, strconv.Quote(l+"\n"))
		}),
		"Fluent Bit": each(lines, func(_ int, l string) string {
			return fmt.Sprintf(`{"kubernetes":{"pod_name":"keda-operator-6d5c-x2x","namespace":"keda","labels":{"name":"keda-operator"}},"log":%s}`, strconv.Quote(l))
		}),
		"Loki's API": each(lines, func(_ int, l string) string {
			return fmt.Sprintf(`["1767348000000000000",%s],`, strconv.Quote(toJSON(0, l)))
		}),
		"page": each(lines, func(_ int, l string) string { return strings.ReplaceAll(l, `"`, "&quot;") }),
		"chat": each(lines, func(_ int, l string) string {
			return strings.NewReplacer("\t", "\u00a0\u00a0", `: "`, ": \u201c", `"`, "\u201d").Replace(l)
		}),
		"colors": each(lines, func(_ int, l string) string {
			return "\x1b[36mkeda-operator-6d5c-x2x\x1b[0m keda-operator " + strings.Replace(l, "INFO", "\x1b[34mINFO\x1b[0m", 1)
		}),
		"nested": each(lines, func(_ int, l string) string {
			return strings.NewReplacer(`"scaledJob.Name":`, `"scaledJob": {"Name":`, ` "scaledJob.Namespace":`, ` "Namespace":`, `"shop",`, `"shop"},`).Replace(toJSON(0, l))
		}),
		"millis": each(lines, func(i int, l string) string {
			return fmt.Sprintf(`%d.25%s%s`, 1767348000250+int64(i/6)*30000, "\t", strings.SplitN(l, "\t", 2)[1])
		}),
		"nano": each(lines, func(i int, l string) string {
			return regexp.MustCompile(`"ts":"[^"]*"`).ReplaceAllString(toJSON(0, l), fmt.Sprintf(`"ts":%d`, (1767348000+int64(i/6)*30)*1e9))
		}),
		"report":             slices.Concat([]string{"The ScaledJob is paused? No. Created jobs are missing.", "KEDA Version: 2.17.0", "```"}, lines, []string{"```", "No need to create jobs is strange.", "KEDA Version: 2.17.0"}),
		"a renamed operator": each(lines, func(_ int, l string) string { return "[pod/acme-keda-operator-6d5c-x2x/keda-operator] " + l }),
		"other pods": slices.Concat([]string{
			`{"log":"panic: runtime error\n","kubernetes":{"pod_name":"orders-1-x"}}`,
			`{"level":"info","ts":"2026-01-02T10:00:00Z","msg":"KEDA Version: 2.17.0","pod_name":"keda-operator-metrics-apiserver-7d-x"}`,
			"[pod/acme-keda-operator-metrics-apiserver-7d-x/keda] 2026-01-02T10:00:00Z\tINFO\tsetup\tKEDA Version: 2.17.0",
			"[pod/keda-operator-metrics-apiserver-7d-x/keda-operator-metrics-apiserver] 2026-01-02T10:00:00Z\tINFO\tsetup\tKEDA Version: 2.17.0",
			"[pod/orders-1-x/worker] " + lines[0], "orders-1-x worker panic: runtime error: index out of range", "2026-01-02T10:00:00Z\tINFO\tsetup\tStarting admission webhooks",
			"2026-01-02T10:00:00Z\tINFO\tsetup\tKEDA Version: 2.17.0"}, lines),
	}
	for name, form := range forms {
		l := Read(strings.Join(form, "\n"))
		require.Len(t, l.Subjects, 2, name)
		require.Empty(t, l.Operator, name)
		s := l.Subjects[1]
		require.Equal(t, "shop/orders", titled(s.Namespace, s.Name), name)
		require.Len(t, s.Polls, 2, name)
		require.EqualValues(t, 3, *s.Polls[0].Created, name)
		require.EqualValues(t, 0, *s.Polls[1].Created, name)
		require.EqualValues(t, 3, *s.Polls[1].Pending, name)
		require.False(t, s.Polls[0].Cut || s.Polls[1].Cut, name)
		require.Equal(t, "2.15", l.First, name)
	}
}

// refusals puts failed creates before the line about created Jobs.
func refusals(lines []string, texts ...string) []string {
	n := len(lines) - 1
	for i := range texts {
		texts[i] = fmt.Sprintf("2026-01-02T10:00:00Z\tERROR\tscaleexecutor\tFailed to create a new Job\t{\"scaledJob.Name\": \"a\", \"scaledJob.Namespace\": \"shop\", \"error\": %q}", texts[i])
	}
	return append(append(lines[:n:n], texts...), lines[n])
}

// TestPasted has logs without and with other lines than those of polls.
func TestPasted(t *testing.T) {
	const (
		failing = "2026-01-02T10:00:00Z\tERROR\tscale_handler\tError getting scaler metrics and activity, but continue\t" + `{"scaledJob.Name": "a", "scaledJob.Namespace": "shop", "error": "dial tcp: lookup redis: no such host"}`
		missing = "2026-01-02T10:00:00Z\tERROR\tscale_handler\terror getting triggerAuth\t" + `{"type": "ScaledJob", "namespace": "shop", "name": "a", "error": "TriggerAuthentication.keda.sh \"r\" not found"}`
		parsing = "2026-01-02T10:00:01Z\tERROR\tReconciler error\t" + `{"controllerKind": "ScaledJob", "ScaledJob": {"name":"a","namespace":"shop"}, "namespace": "shop", "name": "a", "error": "error parsing rabbitmq metadata: no host setting given"}`
		klogged = "0102 10:00:25.123456       1 leaderelection.go:297] "

		leaseError = "E" + klogged + `error retrieving resource lock keda/operator.keda.sh: Get "https://10.0.0.1:443/apis": EOF`

		forbidden = `failed to list *v1.Job: jobs.batch is forbidden: User "system:serviceaccount:keda:keda-operator" cannot list resource "jobs"`
		unreached = `failed to list *v1.Pod: Get "https://10.96.0.1:443/api/v1/pods?limit=500": dial tcp 10.96.0.1:443: connect: connection refused`
	)
	polls := func(r, p, created int, seconds ...int) (all []string) {
		for _, s := range seconds {
			all = append(all, pollLines(s, "a", r, p, created)...)
			r += created
		}
		return all
	}
	open := pollLines(0, "a", 1, 0, 0)[:2]
	cases := map[string]struct {
		spec  string
		lines []string
	}{
		"lease lost":         {"", append(open[:2:2], "I"+klogged+"failed to renew lease keda/operator.keda.sh: context deadline exceeded")},
		"standby":            {"", []string{"I" + klogged + "attempting to acquire leader lease keda/operator.keda.sh..."}},
		"standby that leads": {"", append([]string{"I" + klogged + "attempting to acquire leader lease keda/operator.keda.sh..."}, polls(1, 0, 0, 60)...)},
		"no permission":      {"", []string{"W" + klogged + forbidden}},
		"no API server":      {"", []string{"W" + klogged + unreached}},
		"no kind":            {"", []string{"W" + klogged + "failed to list *v1alpha1.ScaledJob: the server could not find the requested resource"}},
		"panic":              {"", append(open[:2:2], "panic: runtime error: invalid memory address or nil pointer dereference")},
		"panic after klog":   {"", append(open[:2:2], leaseError, "panic: runtime error: invalid memory address or nil pointer dereference")},
		"one of two fails":   {"", append([]string{failing}, polls(1, 0, 0, 0)...)},
		"creates, one fails": {"", append([]string{failing}, polls(1, 0, 2, 0)...)},
		"some creates fail":  {"", refusals(polls(0, 0, 2, 0), "forbidden: exceeded quota: jobs")},
		"all creates fail":   {"", refusals(polls(0, 0, 2, 0), `admission webhook "x" denied the request`, `admission webhook "x" denied the request`)},
		"stuck for a while":  {"", polls(3, 3, 0, 0, 30, 60, 90, 120, 150)},
		"starting":           {"", polls(3, 3, 0, 0, 30)},
		"maximum, pending":   {"maxReplicaCount: 3, ", polls(3, 2, 0, 0)},
		"created again":      {"scalingStrategy: {strategy: accurate}, ", polls(0, 0, 2, 0, 30, 60)},
		"authentication":     {"", []string{missing, parsing}},
		"created only":       {"", polls(0, 0, 2, 0)[4:]},
		"lease of 2.21": {"", append(open[:2:2],
			"E"+klogged+`"Failed to update lock" err="Put \"https://10.0.0.1/apis/coordination.k8s.io/v1\": context deadline exceeded" lock="keda/operator.keda.sh"`, "I"+klogged+`"Failed to renew lease" lock="keda/operator.keda.sh" err="context deadline exceeded"`)},
		"standby of 2.21":       {"", []string{"I" + klogged + `"Attempting to acquire leader lease..." lock="keda/operator.keda.sh"`}},
		"nothing selected":      {"", append(append(open[:2:2], pollLines(30, "a", 0, 0, 0)[:2]...), pollLines(60, "b", 0, 0, 0)...)},
		"custom, pending":       {"scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: \"0.5\"}, ", polls(12, 9, 0, 0)},
		"queue length":          {"", polls(0, 0, 2, 0)},
		"inactive above zero":   {"", append([]string{"2026-01-02T10:00:00Z\tDEBUG\tscale_handler\tScaler Metric value\t" + `{"scaledJob.Name": "a", "isTriggerActive": false, "s0-x": 4, "targetAverageValue": 1}`}, append(open[:2:2], pollLines(30, "b", 0, 0, 0)...)...)},
		"standby beside":        {"", append(polls(1, 0, 0, 0), "I"+klogged+"attempting to acquire leader lease keda/operator.keda.sh...")},
		"cannot start":          {"", []string{"2026-01-02T10:00:00Z\tERROR\tsetup\tproblem running manager\t" + `{"error": "failed to wait for scaledjob caches to sync"}`}},
		"no CRD":                {"", []string{"2026-01-02T10:00:00Z\tERROR\tif kind is a CRD, it should be installed before calling Start\t" + `{"error": "no matches for kind \"ScaledJob\""}`}},
		"above min":             {"minReplicaCount: 5, ", polls(5, 0, 2, 0)},
		"panic of the operator": {"", append(open[:2:2], "keda-operator-7d9-x keda-operator panic: close of closed channel")},
		"deleted":               {"", append(polls(1, 0, 0, 0), "2026-01-02T10:00:40Z\tINFO\tSuccessfully finalized ScaledJob\t"+`{"controllerKind": "ScaledJob", "namespace": "shop", "name": "a"}`)},
		"others are polled":     {"", append(polls(1, 0, 0, 0), pollLines(300, "b", 0, 0, 0)...)},
		"other manifest":        {"maxReplicaCount: 3, ", polls(0, 0, 9, 0)},
		"filtered":              {"", each(polls(1, 0, 0, 0, 30, 60), func(i int, l string) string { return []string{l, "", ""}[i%3] })},
		"started twice": {"", slices.Concat(
			polls(1, 0, 0, 0), []string{"2026-01-02T10:00:10Z\tINFO\tsetup\tStarting manager", "2026-01-02T10:00:11Z\tINFO\tsetup\tKEDA Version: 2.17.0"}, polls(1, 0, 0, 30),
			[]string{"2026-01-02T10:01:00Z\tINFO\tsetup\tKEDA Version: 2.17.0"}, polls(1, 0, 0, 95))},
		"started, not polled yet": {"", slices.Concat(
			polls(1, 0, 0, 0), []string{"2026-01-02T10:00:10Z\tINFO\tsetup\tKEDA Version: 2.17.0"}, polls(1, 0, 0, 30), []string{"2026-01-02T10:01:00Z\tINFO\tsetup\tKEDA Version: 2.17.0"})},
		"lease lost and back": {"", slices.Concat(
			open[:2], []string{"E" + klogged + "error retrieving resource lock keda/operator.keda.sh: Get \"https://10.0.0.1:443/apis\": context deadline exceeded", "I" + klogged + "failed to renew lease keda/operator.keda.sh",
				"2026-01-02T10:00:40Z\tINFO\tsetup\tKEDA Version: 2.17.0"}, polls(1, 0, 0, 60))},
		"old lease error": {"", slices.Concat(
			open[:2], []string{leaseError}, polls(1, 0, 0, 30, 60, 90), []string{"I0102 10:01:50.000000       1 leaderelection.go:297] failed to renew lease keda/operator.keda.sh"})},
		"lease error that a poll follows": {"", slices.Concat(
			open[:2], []string{leaseError}, polls(1, 0, 0, 30), []string{"I0102 10:00:50.000000       1 leaderelection.go:297] failed to renew lease keda/operator.keda.sh"})},
		"lease lost, then the end": {"", append(open[:2:2], leaseError,
			"I"+klogged+"failed to renew lease keda/operator.keda.sh", "2026-01-02T10:00:26Z\tERROR\tsetup\tproblem running manager\t"+`{"error": "leader election lost"}`)},
		"stopped before it waits": {"", append(polls(1, 0, 0, 0), "I"+klogged+"failed to renew lease keda/operator.keda.sh",
			"I0102 10:00:31.000000       1 leaderelection.go:297] attempting to acquire leader lease keda/operator.keda.sh...")},
		"still creating":                   {"", append(polls(0, 0, 2000, 0)[:4], pollLines(300, "b", 0, 0, 0)...)},
		"prose about a stop":               {"", append(polls(1, 0, 0, 0, 30), "Could it be leader election lost?")},
		"panic in Docker's JSON":           {"", append(open[:2:2], `{"log":"panic: runtime error: index out of range\n","stream":"stderr","time":"2026-01-02T10:00:20Z"}`)},
		"panic in Loki's API":              {"", append(open[:2:2], `["1767348020000000000","panic: runtime error: index out of range"],`)},
		"fails through the metrics server": {"", append([]string{strings.Replace(failing, "dial tcp: lookup redis: no such host", "Get http://keda-operator-metrics-apiserver.keda:8080: connection refused", 1)}, polls(1, 0, 0, 0)...)},
		"canceled":                         {"", append([]string{strings.Replace(failing, "dial tcp: lookup redis: no such host", "context canceled", 1)}, polls(1, 0, 0, 0)...)},
		"above the maximum":                {"maxReplicaCount: 3, ", polls(4, 0, 0, 0)},
		"zone": {"", append(each(polls(1, 0, 0, 0), func(_ int, l string) string { return strings.Replace(l, "T10:00:00Z", "T15:30:00+0530", 1) }),
			"I0102 15:30:25.000000       1 leaderelection.go:297] failed to renew lease keda/operator.keda.sh: timed out")},
		"two operators": {"", append(append([]string{"```"}, each(polls(1, 0, 0, 0), func(_ int, l string) string { return strings.Replace(l, `Jobs"`, `Jobs "`, 1) })...), append([]string{"```", "and", "```"}, polls(1, 0, 0, 600)...)...)},
	}
	var golden strings.Builder
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		trigger := cmp.Or(map[string]string{
			"queue length":     `{type: redis, metadata: {listLength: "5"}}`,
			"nothing selected": `{type: azure-pipelines, metadata: {poolName: p, demands: java, targetPipelinesQueueLength: "1"}}`,
			"created again":    `{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: "1", hostFromEnv: H}}`,
		}[name], `{type: redis, metadata: {listLength: "1"}}`)
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a, namespace: shop}\nspec: {" + c.spec + "jobTargetRef: {template: {}}, triggers: [" + trigger + "]}\n"
		l, q := Read(strings.Join(c.lines, "\n")), Question{Name: "a", Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(text))[0].ScaledJob}}
		r := Explain(l, q)
		require.Len(t, r.Subjects, 1, name)
		fmt.Fprintf(&golden, "%s: %s\n", name, r.Subjects[0].State)
		r.Print(&golden)
	}
	pinned(t, "testdata/pasted.txt", golden.String())
	r := Explain(Read(strings.Join(append(open[:2:2], open...), "\n")), Question{})
	require.Contains(t, r.Notes[0], "if the log was filtered")
	cut := each(pollLines(0, "a", 1, 0, 2), func(_ int, l string) string { return l[:110] + ">" })
	require.Contains(t, Explain(Read(strings.Join(cut, "\n")), Question{}).Notes[0], "cut off in 4 lines")
	require.NotContains(t, strings.Join(Explain(Read(strings.Join(polls(0, 0, 2, 0), "\n")+"\n"+strings.Join(cut, "\n")), Question{}).Notes, ""), "no line")
	for text, rights := range map[string]bool{forbidden: true, unreached: false} {
		l := Read("W" + klogged + text)
		q := Question{Manifests: []*manifest.ScaledJob{{}}}
		c := Explain(l, q).Subjects[0].Causes[0]
		require.Equal(t, rights, strings.Contains(c.Decide, "auth can-i") && strings.Contains(c.Fix, "ClusterRole"), "%+v", c)
		require.Equal(t, !rights, strings.Contains(c.Text, "the API server does not answer"), "%+v", c)
	}
}

// TestPlain has errors of scalers, creates and lists in plain words.
func TestPlain(t *testing.T) {
	const file = "testdata/errors.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var golden strings.Builder
	problems := 0
	for line := range strings.Lines(string(data)) {
		problem, _, found := strings.Cut(line, " -> ")
		act, text, _ := strings.Cut(problem, ": ")
		if found {
			means, fix := in(map[string][]plainError{"create": createErrors, "read": readErrors, "list": listErrors}[act], text)
			problems++
			if line = problem + " -> unknown\n"; means != "" {
				line = problem + " -> " + means + "; " + fix + "\n"
			}
		}
		golden.WriteString(line)
	}
	require.GreaterOrEqual(t, problems, 25)
	pinned(t, file, golden.String())
}

// A fix that the answer does not have stays, though the answer says why already.
func TestOtherFix(t *testing.T) {
	const reason = `the metric cannot be read: nothing listens: "refused"`
	a := Account{Answer: "No poll: " + reason + ". Start it.", Also: []Cause{{ID: "a", Text: "a trigger fails: " + reason, Fix: "Start it"}, {ID: "b", Text: "another: " + reason, Fix: "Correct the port"}}}
	a.addOthers()
	require.Equal(t, "No poll: "+reason+". Start it. Correct the port.", a.Answer)
}

// TestUpgrade has starts of two releases, and the line about the metrics server that each start of the operator has.
func TestUpgrade(t *testing.T) {
	start := func(hour int, release string) []string {
		at := fmt.Sprintf("2026-01-02T%02d:00:00Z\tINFO\t", hour)
		return []string{at + "setup\tStarting manager", at + "setup\tKEDA Version: " + release, at + "controller-runtime.metrics\tStarting metrics server"}
	}
	l := Read(strings.Join(slices.Concat(start(9, "2.14.0"), pollLines(0, "a", 1, 0, 0), start(11, "2.21.0")), "\n"))
	require.Equal(t, "2.21.0", Explain(l, Question{}).Release)

	// each poll has the rules of its release: from 2.19 on accurate compares T + R - P with M
	poll := func(hour, created int) (all []string) {
		lines := pollLines(60, "orders", 19, 6, created)
		metric := "2026-01-02T10:01:00Z\tDEBUG\tscale_handler\tScaler Metric value\t" + `{"scaledJob.Name": "orders", "isTriggerActive": true, "s0-redis-q": 2, "targetAverageValue": 1}`
		active := "2026-01-02T10:01:00Z\tDEBUG\tscaleexecutor\tAt least one scaler is active\t" + `{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop"}`
		return each(slices.Concat([]string{metric}, lines[:2], []string{active}, lines[2:]), func(_ int, line string) string {
			return strings.Replace(line, "T10:", fmt.Sprintf("T%02d:", hour), 1)
		})
	}
	spec := manifest.Objects([]byte(pastScaledJob))[0].ScaledJob
	spec.Spec.ScalingStrategy.Strategy, spec.Spec.MaxReplicaCount = "accurate", new(int32(20))
	text := strings.Join(slices.Concat(start(9, "2.18.0"), poll(10, 1), start(11, "2.21.0"), poll(12, 0)), "\n")
	q := Question{Manifests: []*manifest.ScaledJob{spec}}
	a := Explain(Read(text), q).Subjects[0]
	require.Equal(t, [2]int{2, 0}, [2]int{a.Compared, a.Differ}, "%+v", a.Groups)
	q.Release = "2.21"
	require.Equal(t, 1, Explain(Read(text), q).Subjects[0].Differ, "the given release is that of all polls")
}

// TestCut has polls that the log begins or ends within.
func TestCut(t *testing.T) {
	first, second := pollLines(0, "a", 1, 0, 2), pollLines(30, "a", 3, 0, 0)
	for name, lines := range map[string][]string{
		"begin": append(first[3:len(first):len(first)], second...),
		"end":   append(append([]string{}, first...), second[:2]...),
		"both":  append(first[2:len(first):len(first)], second[:1]...),
	} {
		a := Explain(Read(strings.Join(lines, "\n")), Question{}).Subjects[0]
		want := 1
		if name == "both" {
			want = 0
			require.Contains(t, a.Answer, "no complete poll")
		}
		require.Equal(t, want, a.Complete, name)
	}
}

// TestFragments has pastes without a complete poll.
func TestFragments(t *testing.T) {
	const at, of = "2026-01-02T10:00:00Z\t", `{"scaledJob.Name": "a", "scaledJob.Namespace": "shop"`
	for line, want := range map[string]string{
		at + "ERROR\tscaleexecutor\tFailed to create a new Job\t" + of + `, "error": "jobs.batch \"x\" is forbidden: cannot set blockOwnerDeletion if an ownerReference"}`:   "Grant update on scaledjobs/finalizers",
		at + "ERROR\tscale_handler\tError getting scaler metrics and activity, but continue\t" + of + `, "error": "dial tcp: lookup x: no such host"}`:                       "shows this: the metric cannot be read",
		at + "ERROR\tmysql_scaler\tFound error when pinging database\t" + `{"type": "ScaledJob", "namespace": "shop", "name": "a", "error": "connection refused"}`:           "no poll of the ScaledJob. The metric cannot be read",
		at + "INFO\tRolloutStrategy: immediate, Deleting jobs owned by the previous version of the scaledJob\t" + `{"name": "a", "namespace": "shop", "numJobsToDelete": 3}`: "no poll of the ScaledJob. At 10:00:00 a rollout deleted 3 Jobs",
	} {
		r := Explain(Read(line), Question{})
		require.Len(t, r.Subjects, 1, line)
		require.Contains(t, r.Subjects[0].Answer, want)
	}
	lines := []string{at + "INFO\tscaleexecutor\tScaling Jobs\t" + of + `, "Number of running Jobs": 2}`, at + "INFO\tscaleexecutor\tScaling Jobs\t" + of + `, "Number of pending Jobs": 0}`,
		at + "DEBUG\tscaleexecutor\tSelecting Scale Strategy\t" + of + `, "selected": "accurate"}`, at + "INFO\tscaleexecutor\tNo need to create jobs\t" + of + `, "jobs": 0}`}
	require.Contains(t, Explain(Read(strings.Join(lines, "\n")), Question{}).Subjects[0].Answer, "accurate subtracts only pending Jobs, and P=0: T is 0")
}

// TestSameName has two ScaledJobs of a name, and lines of level 1 that may be of both.
func TestSameName(t *testing.T) {
	lines := pollLines(0, "a", 1, 0, 2)
	lines = append(lines, each(lines, func(_ int, l string) string { return strings.ReplaceAll(l, `"shop"`, `"mail"`) })...)
	lines = append(lines, "2026-01-02T10:00:20Z\tDEBUG\tscale_handler\tScaler Metric value\t"+`{"scaledJob.Name": "a", "isTriggerActive": true, "s0-x": 7, "targetAverageValue": 1}`)
	r := Explain(Read(strings.Join(lines, "\n")), Question{})
	require.Len(t, r.Subjects, 2)
	for _, a := range r.Subjects {
		require.Equal(t, 1, a.Polls)
		require.Contains(t, strings.Join(a.Notes, ""), "several namespaces")
	}
}

// TestMoment asks about a time outside of the log.
func TestMoment(t *testing.T) {
	l := Read(strings.Join(pollLines(0, "a", 1, 0, 2), "\n"))
	r := Explain(l, Question{Moment: l.End.AddDate(0, 0, 1)})
	require.Contains(t, r.Notes[0], "is outside the log")
	stops := append(append(pollLines(0, "a", 1, 0, 0), pollLines(30, "a", 1, 0, 0)...), "2026-01-02T10:00:50Z\tERROR\tsetup\tproblem running manager\t"+`{"error": "leader election lost"}`)
	l = Read(strings.Join(stops, "\n"))
	require.Contains(t, Explain(l, Question{Moment: l.From}).Subjects[0].Answer, "No Job was created since 10:00:00")
	require.Contains(t, Explain(l, Question{}).Subjects[0].Answer, "No poll since 10:00:50")

	// A later event neither stops polling nor begins it again.
	const of = `{"controllerKind": "ScaledJob", "name": "a", "namespace": "shop", "error": "no host setting given"}`
	for _, later := range []string{"ERROR\tsetup\tproblem running manager\t" + `{"error": "leader election lost"}`, "ERROR\tReconciler error\t" + of, "INFO\tUnpausing ScaledJob\t" + of} {
		l = Read(strings.Join(append(pollLines(0, "a", 1, 0, 0), "2026-01-02T10:01:00Z\tINFO\tScaledJob is paused\t"+of, "2026-01-02T12:00:00Z\t"+later), "\n"))
		require.Contains(t, Explain(l, Question{Moment: l.From.Add(time.Hour)}).Subjects[0].Answer, "No poll since 10:01:00: the ScaledJob is paused", later)
	}
}

// TestGap has no poll for a while, in which the operator worked on others, or shows nothing of it.
func TestGap(t *testing.T) {
	const of = "E0102 10:03:00.000000       1 leaderelection.go:332] error retrieving resource lock keda/operator.keda.sh: EOF"
	q := Question{Name: "orders", Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(pastScaledJob))[0].ScaledJob}}
	for _, other := range []string{"orders", "mails"} {
		lines := slices.Concat(pollLines(0, "orders", 1, 0, 0), []string{of}, pollLines(200, other, 1, 0, 0), pollLines(400, "orders", 1, 0, 0))
		answer := Explain(Read(strings.Join(lines, "\n")), q).Subjects[0].Answer
		require.Equal(t, other == "mails", strings.Contains(answer, "although the operator worked"), answer)
	}
	lines := slices.Concat(pollLines(0, "orders", 1, 0, 0), pollLines(30, "orders", 1, 0, 0), pollLines(60, "orders", 1, 0, 0), pollLines(1000, "orders", 1, 0, 0), pollLines(1030, "orders", 1, 0, 0))
	for _, lines := range [][]string{lines, reversed(lines)} { // nothing else is logged
		answer := Explain(Read(strings.Join(lines, "\n")), q).Subjects[0].Answer
		require.Contains(t, answer, "o poll from 10:01:00 to 10:16:40, and no line about another ScaledJob", answer)
	}
}

// TestManyLines reads objects of many lines without a copy for each line.
func TestManyLines(t *testing.T) {
	text := strings.Repeat("{\n"+strings.Repeat(",\n", maxObject-1), 2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Read(text)
	runtime.ReadMemStats(&after)
	// A copy for each line takes 16,000 times the text. Regular expressions take 5,000 times the text with
	// the race detector, which drops objects of a sync.Pool.
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10_000*len(text)), "bytes")
}

// FuzzRead reads any text.
func FuzzRead(f *testing.F) {
	f.Add(strings.Join(pollLines(0, "a", 1, 0, 2), "\n"))
	f.Add(strings.Join(slices.Concat(maximumReached(0), maximumReached(30)), "\n"))
	f.Add(strings.ReplaceAll(strings.Join(maximumReached(0), "\n"), `Jobs": 5`, `Jobs": 9e18`))
	f.Add(strings.ReplaceAll(strings.Join(maximumReached(0), "\n"), `Jobs": 5`, `Jobs": -5`))
	spec := manifest.Objects([]byte(pastScaledJob))[0].ScaledJob
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		Explain(Read(text), Question{}).Print(&b)
		Explain(Read(text), Question{Manifests: []*manifest.ScaledJob{spec}}).Print(&b)
	})
}

// TestSilent has a log of a release that writes a failed trigger only at level debug.
func TestSilent(t *testing.T) {
	lines := strings.Split(strings.ReplaceAll(strings.Join(pollLines(0, "a", 1, 0, 2), "\n"), "pending Jobs\"", "pending Jobs \""), "\n")
	lines = append(lines, pollLines(30, "a", 3, 0, 0)[:2]...)
	lines = append(lines, pollLines(60, "a", 3, 0, 0)[:2]...)
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "pending Jobs\"", "pending Jobs \"")
	a := Explain(Read(text), Question{}).Subjects[0]
	require.Equal(t, "empty-or-failed", a.Causes[0].ID)
	require.Contains(t, a.Answer, "inactive or failed")
	require.Equal(t, "empty", Explain(Read(text), Question{Release: "2.21"}).Subjects[0].Causes[0].ID)
}

// TestHostileText has texts that break a line, change a terminal or a command, in a log, a manifest and metrics.
func TestHostileText(t *testing.T) {
	const hostile = `x\u001b]0;t\u0007\nFAKE; rm -rf /\u202e`
	text := strings.ReplaceAll(strings.Join(pollLines(0, "x", 1, 0, 0), "\n"), `"x"`, `"`+hostile+`"`)
	lines := append(pollLines(0, "a", 5, 0, 0), pollLines(30, "a", 0, 0, 0)[:2]...)
	lines = append(lines, pollLines(60, "a", 4, 0, 1)...)
	lines = append(lines, "2026-01-02T10:00:01Z\tDEBUG\tscale_handler\tScaler Metric value\t{\"scaledJob.Name\": \"a\", \"isTriggerActive\": true, \"s0-\x1b]0;t\x07\": 7, \"targetAverageValue\": 1}")
	lines = append(lines, strings.ReplaceAll(pollLines(90, "a", 4, 0, 1)[0], `"Number`, `"selected": "`+hostile+`", "Number`),
		"2026-01-02T10:01:30Z\tDEBUG\tscaleexecutor\tSelecting Scale Strategy\t{\"scaledJob.Name\": \"a\", \"scaledJob.Namespace\": \"shop\", \"selected\": \""+hostile+"\"}")
	lines = append(lines, pollLines(90, "a", 4, 0, 1)[1:]...)
	spec := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a, namespace: \"" + hostile + "\"}\nspec: {jobTargetRef: {template: {}}, triggers: [{type: \"" + hostile + "\", metadata: {\"" + hostile + "\": \"1\"}}]}\n"
	q := Question{Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(spec))[0].ScaledJob}}
	q.Live = map[string]*Live{"a": {Lint: []string{"\x1b[31m"}, Absent: []string{"\x1b[31m"}, Waiting: []string{"\x1b[31m"}, Metrics: Metrics{{name: "a", metric: "metrics_value", series: "\x1b[31m"}}, Counted: true}}
	for _, r := range []*Report{Explain(Read(text), Question{}), Explain(Read(text), Question{Name: "a", Manifests: q.Manifests}), Explain(Read(strings.Join(lines, "\n")), q),
		Explain(Read(strings.Join(lines[:len(lines)-9], "\n")), Question{Manifests: q.Manifests}), Explain(Read(), q)} {
		var b strings.Builder
		out := report.NewWriter(&b)
		r.Print(out)
		r.PrintRanked(out)
		require.NoError(t, out.Flush())
		require.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}]|(?m)^FAKE`, b.String())
		require.NotContains(t, b.String(), "kubectl -n x")
		for _, a := range r.Subjects {
			for _, c := range slices.Concat(a.Causes, a.Also) {
				require.NotContains(t, c.Decide, "rm -rf", "a command to copy")
			}
		}
	}
}

// Two operators poll in turn. After a change of the leader, one does.
func TestTwoOperators(t *testing.T) {
	by := func(pod string, second int) []string {
		return each(pollLines(second, "a", 0, 0, 2), func(_ int, l string) string { return "keda-operator-" + pod + " keda-operator " + l })
	}
	both := slices.Concat(by("x", 0), by("y", 5), by("x", 30), by("y", 35))
	text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a, namespace: shop}\nspec: {jobTargetRef: {template: {}}, triggers: [{type: redis, metadata: {listLength: \"1\"}}]}\n"
	q := Question{Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(text))[0].ScaledJob}}
	answer := func(lines []string) string { return Explain(Read(strings.Join(lines, "\n")), q).Subjects[0].Answer }
	require.Contains(t, answer(both), "The pods keda-operator-x and keda-operator-y poll the ScaledJob at the same time")
	many := each(both, func(_ int, l string) string { return strings.Replace(l, `running Jobs": 0`, `running Jobs": 900`, 1) })
	require.NotContains(t, answer(many), "made by hand")
	byPod := slices.Concat(by("x", 0), by("x", 30), by("y", 5), by("y", 35)) // kubectl logs prints one pod after the other
	require.Contains(t, answer(byPod), "at the same time")
	require.NotContains(t, answer(slices.Concat(by("x", 0), by("x", 30), by("y", 60), by("y", 90))), "at the same time")
	often := Explain(Read(strings.Join(slices.Concat(pollLines(0, "a", 0, 0, 0), pollLines(10, "a", 0, 0, 0), pollLines(20, "a", 0, 0, 0), pollLines(30, "a", 0, 0, 0)), "\n")), q)
	require.Contains(t, strings.Join(often.Subjects[0].Notes, "\n"), "polls come every 10s, but pollingInterval is 30s")
}

// What the metric of azure-pipelines counts differs between KEDA 2.19, 2.20 and 2.21.
func TestCountsOfReleases(t *testing.T) {
	text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a, namespace: shop}\nspec: {jobTargetRef: {template: {}}, triggers: [{type: azure-pipelines, metadata: {poolName: p}}]}\n"
	q := Question{Manifests: []*manifest.ScaledJob{manifest.Objects([]byte(text))[0].ScaledJob}}
	for release, says := range map[string]string{"": "depends on the release", "2.19": "counts in-progress items too", "2.20": "leaves out in-progress items", "2.21": "counts in-progress items too"} {
		q.Release = release
		r := Explain(Read(strings.Join(pollLines(0, "a", 4, 0, 0), "\n")), q)
		require.Contains(t, r.Subjects[0].Answer, says, release)
	}
}
