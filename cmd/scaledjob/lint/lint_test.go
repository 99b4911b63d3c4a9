package lint_test

// What the tests hold:
//
//	effects name the releases whose model behaves that way      TestReleases
//	every value that a release rejects or lacks is found        TestWhatTheModelRefuses
//	every value that adapter/scaledjob rejects is found         TestWhatAdapterRefuses
//	a Job that Kubernetes refuses has a finding                 TestTemplates
//	each rule has a bad example with a finding and a good one   TestExamples
//	a field that a named release does not have is found         TestFieldsOfReleases
//	a misplaced key goes to the nearest place that takes it     TestMoves
//	the nearest object of a name counts                         TestNearestObject
//	--fix changes no running ScaledJob                          TestFixed, TestFixedTwice

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scheduled"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/testdata"
)

var update = flag.Bool("update", false, "write testdata/findings.txt")

// A sampleFile is a file of testdata. "# release 2.16" at its top is what it is checked for.
type sampleFile struct {
	lint.File
	releases []keda.Profile
}

var releasePattern = regexp.MustCompile(`^# release (\S+)\n`)

func load(t testing.TB, pattern string) []sampleFile {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, names, pattern)
	var all []sampleFile
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		m := sampleFile{File: lint.File{Name: filepath.ToSlash(name), Data: data}}
		if r := releasePattern.FindSubmatch(data); r != nil {
			m.releases = []keda.Profile{release(t, string(r[1]))}
		}
		all = append(all, m)
	}
	return all
}

func release(t testing.TB, name string) keda.Profile {
	t.Helper()
	p, err := keda.Release(name)
	require.NoError(t, err)
	return p
}

func (m sampleFile) check() lint.Report { return checkAll(m.File, m.releases...) }

// checkAll checks ScheduledJobs as well.
func checkAll(f lint.File, releases ...keda.Profile) lint.Report {
	return lint.Checker{Releases: releases, ScheduledJob: scheduled.Lint}.Check([]lint.File{f})
}

func brief(findings []lint.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Rule))
	}
	return all
}

func corpus(t testing.TB) []sampleFile {
	all := load(t, "testdata/rules/*.yaml")
	all = append(all, load(t, "testdata/samples/*.yaml")...)
	return append(all, load(t, "testdata/clean/*")...)
}

// Every manifest of a rule has a finding of it. A rule without a manifest has the bad example of examples.txt, which
// TestExamples checks.
func TestManifestsOfRules(t *testing.T) {
	var names, ids []string
	for _, m := range load(t, "testdata/rules/*.yaml") {
		id := strings.TrimSuffix(filepath.Base(m.Name), ".yaml")
		names = append(names, id)
		require.True(t, has(m.check(), id), id)
	}
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, r := range lint.Rules() {
		ids = append(ids, r.ID)
		require.Regexp(t, kebab, r.ID)
		require.NotEmpty(t, r.Doc)
		require.NotContains(t, r.Doc, "\n")
		require.Contains(t, []lint.Severity{lint.Note, lint.Warning, lint.Error}, r.Severity, r.ID)
	}
	slices.Sort(ids)
	slices.Sort(names)
	require.Subset(t, ids, names)
	require.Equal(t, ids, slices.Compact(slices.Clone(ids)))
}

// What is said of each manifest is as in testdata/findings.txt.
func TestMessages(t *testing.T) {
	var b bytes.Buffer
	for _, m := range corpus(t) {
		r := m.check()
		require.NoError(t, r.WriteText(&b))
	}
	const golden = "testdata/findings.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// Where a finding is of a value, the value stands there or, in case of a map or
// list or of a key at fault, a key of its path.
func TestPositions(t *testing.T) {
	for _, m := range corpus(t) {
		lines := strings.Split(string(m.Data), "\n")
		for _, f := range m.check().Findings {
			if f.Path == "" || f.Found == "nothing" {
				continue
			}
			at := string([]rune(lines[f.Line-1])[f.Column-1:])
			found, _, _ := strings.Cut(f.Found, ",")
			words := regexp.MustCompile(`[\w-]+`).FindAllString(f.Path, -1)
			stands := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(strings.TrimPrefix(at, "- "), w) }) ||
				strings.HasPrefix(at, "*") || strings.HasPrefix(at, found) || strings.HasPrefix(at, strings.Trim(found, `"`)) || strings.HasPrefix(at, "[")
			require.True(t, stands, "%s:%d:%d: %s, found %s, is at %s", f.File, f.Line, f.Column, f.Path, f.Found, at)
		}
	}
}

// includes reports whether a text such as "2.8 to 2.10, since 2.18.1" means a
// release.
func includes(t *testing.T, text, release string) bool {
	number := func(name string, open int) int {
		var n [3]int
		parts := strings.Split(name, ".")
		for i := range n {
			if n[i] = open; i < len(parts) {
				var err error
				n[i], err = strconv.Atoi(parts[i])
				require.NoError(t, err, text)
			}
		}
		return n[0]*1e6 + n[1]*1e3 + n[2]
	}
	if text == "" {
		return true
	}
	r := number(release, 0)
	for run := range strings.SplitSeq(text, ", ") {
		switch {
		case strings.HasPrefix(run, "since "):
			if r >= number(run[6:], 0) {
				return true
			}
		case strings.HasPrefix(run, "until "):
			if r <= number(run[6:], 999) {
				return true
			}
		default:
			first, last, several := strings.Cut(run, " to ")
			if !several {
				last = first
			}
			if number(first, 0) <= r && r <= number(last, 999) {
				return true
			}
		}
	}
	return false
}

// A check for one release finds what the check for all of them says of it.
func TestReleases(t *testing.T) {
	for _, m := range corpus(t) {
		all := lint.Check([]lint.File{m.File})
		for _, name := range keda.Releases() {
			var want, got []string
			for _, f := range all.Findings {
				for _, e := range f.Effects {
					if includes(t, e.Releases, name) && !strings.HasSuffix(f.Rule, "-release") && f.Rule != "trigger-key-deprecated" {
						want = append(want, fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Rule, e.Text))
					}
				}
			}
			one := lint.Check([]lint.File{m.File}, release(t, name))
			for _, f := range one.Findings {
				for _, e := range f.Effects {
					require.Empty(t, e.Releases)
					if !slices.Contains([]string{"unsupported-feature", "trigger-key-release", "trigger-type-release", "trigger-key-deprecated"}, f.Rule) {
						got = append(got, fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Rule, e.Text))
					}
				}
			}
			require.Equal(t, want, got, "%s %s", m.Name, name)
		}
	}
}

func TestReleasesByName(t *testing.T) {
	file := lint.File{Name: "a.yaml", Data: []byte(with("  minReplicaCount: 5\n  maxReplicaCount: 2\n"))}
	r := lint.Check([]lint.File{file}, release(t, "2.7"), release(t, "2.9"), release(t, "2.21"))
	require.Equal(t, []string{"unsupported-feature 2.7.1", "min-above-max 2.9.3", "min-above-max 2.21.0"}, effects(r, func(e lint.Effect) string { return e.Releases }))
}

// effects lists the rules with something of their effects.
func effects(r lint.Report, of func(lint.Effect) string) []string {
	var all []string
	for _, f := range r.Findings {
		for _, e := range f.Effects {
			all = append(all, f.Rule+" "+of(e))
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(b[:1], a[:1]) })
	return all
}

// A panic is an error for whoever names its release.
func TestFatal(t *testing.T) {
	file := []lint.File{{Name: "a.yaml", Data: []byte(with("  minReplicaCount: 5\n"))}}
	for name, want := range map[string]lint.Severity{"": lint.Warning, "2.9": lint.Error, "2.21": lint.Warning} {
		var releases []keda.Profile
		if name != "" {
			releases = []keda.Profile{release(t, name)}
		}
		r := lint.Check(file, releases...)
		require.Equal(t, want, r.Worst(), name)
	}
}

// An object of another namespace is not the one that is meant, nor a candidate; where
// it has the name, that is said.
func TestOtherNamespace(t *testing.T) {
	job := strings.Replace(minimal, "name: orders\n", "name: orders\n  namespace: default\n", 1)
	job = strings.Replace(job, "image: example.com/orders:1\n", "image: example.com/orders:1\n            envFrom: [{secretRef: {name: s}}]\n", 1)
	job = strings.Replace(job, "type: prometheus\n", "type: prometheus\n      authenticationRef: {name: a}\n", 1)
	document := func(kind, namespace, name string) string {
		text := "---\napiVersion: " + map[bool]string{true: "v1", false: "keda.sh/v1alpha1"}[kind == "Secret"] + "\nkind: " + kind + "\nmetadata: {namespace: " + namespace + ", name: " + name + "}\n"
		if kind == "TriggerAuthentication" {
			text += "spec: {}\n"
		}
		return text
	}
	for others, want := range map[string][]string{
		document("Secret", "other", "s") + document("TriggerAuthentication", "other", "a"): {
			"Set its namespace to default; the files define it in namespace other", "Set its namespace to default; the files define it in namespace other"},
		document("Secret", "other", "t") + document("TriggerAuthentication", "other", "b"): {
			"Create a Secret of this name in namespace default", "Create a TriggerAuthentication of this name in namespace default"},
		document("Secret", "other", "t") + document("Secret", "default", "u") + document("TriggerAuthentication", "default", "b"): {
			"Create a Secret of this name in namespace default", "Create a TriggerAuthentication of this name in namespace default"},
		document("Secret", "default", "shop-s") + document("TriggerAuthentication", "default", "b-a"): {
			"Use a Secret that the files define: shop-s", "Use a TriggerAuthentication that the files define: b-a"},
	} {
		var got []string
		for _, f := range checkText(job + others).Findings {
			require.Equal(t, lint.Warning, f.Severity)
			got = append(got, f.Fix)
		}
		require.Equal(t, want, got)
	}
}

// A ClusterTriggerAuthentication refers to Secrets in the namespace of KEDA's operator, which is none of the workload's.
func TestOutOfReach(t *testing.T) {
	for namespaces, want := range map[string]bool{"shop shop": true, "shop other": false, "shop keda": false, "keda keda": false, "shop": false, " shop": false} {
		workload, secret, _ := strings.Cut(namespaces, " ")
		job := strings.Replace(minimal, "name: orders\n", "name: orders\n  namespace: "+workload+"\n", 1)
		job = strings.Replace(job, "type: prometheus\n", "type: prometheus\n      authenticationRef: {name: a, kind: ClusterTriggerAuthentication}\n", 1)
		r := checkText(job + "---\napiVersion: keda.sh/v1alpha1\nkind: ClusterTriggerAuthentication\nmetadata: {name: a}\nspec: {secretTargetRef: [{parameter: password, name: s, key: k}, {parameter: username, name: s, key: k}]}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: " + secret + "}\nstringData: {k: a}\n")
		require.Equal(t, want, len(r.Findings) == 1 && strings.Contains(r.Findings[0].Message(), "the files have it in shop"), "%s %v", namespaces, brief(r.Findings))
		require.Equal(t, want, len(r.Findings) > 0)
	}
}

const minimal = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: orders
spec:
  jobTargetRef:
    template:
      spec:
        restartPolicy: Never
        containers:
          - name: main
            image: example.com/orders:1
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus.shop.svc:9090
        query: sum(orders)
        threshold: "5"
`

// with adds lines to the spec.
func with(lines string) string { return strings.Replace(minimal, "spec:\n", "spec:\n"+lines, 1) }

func checkText(text string) lint.Report {
	return lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}})
}

// The line of an error is where a reader would look.
func TestYAMLSyntax(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
	}{
		{"a: b: c\n", 1},
		{"\na:\n  b: c\n d: e\n", 4},
		{"a:\n\tb: c\n", 2},
		{"a: [1, 2\nb: 3\n", 2},
		{"x: 1\na: [1, 2\nb: 3\nc: 4\n", 3},
		{"a: 'x\n", 1},
		{"a: 1\nb: \"x\nc: 3\nd: 4\n", 2},
		{"a: 1\nb: *nope\n", 2},
		{"- a\nb: c\n", 2},
		{"x: 1\na: \"\\q\"\n", 2},
		{"a: 1\nb: 2\n  c: 3\n", 3},
		{"a: 1\nb: \x01\n", 2},
		{"a: 1\nb: }\nc: 3\n", 2},
		{"a: 1\nb\nc: 3\n", 2},
		{"a: 1\nb: @x\nc: 3\n", 2},
		{"a: 1\nb: - x\nc: 3\n", 2},
		{"a: {{ .Values.a }\nb: 1\n", 2},
		{"a: 1\nb: & x\n", 2},
		{"a: 1\nb: !<x y\nc: 1\n", 2},
		{"%YAML 3\n---\na: b\n", 1},
		{"a: 1\n---\nb: 2\n---\nc: @x\n", 5},
		{"a: 1\n\tb: 2\n", 2},
		{"a:\n  b: 1\n  c: x\n  \td: 2\n", 4},
		{"\ta: 1\n", 1},
		{"a: &a [*a]\n", 1},
		{"a: &a {<<: *a}\n", 1},
		{"a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n", 1},
	} {
		require.Empty(t, checkText(tt.text).Findings, "of a file without a ScaledJob")
		r := checkText(tt.text + "---\nkind: RunRequest\n")
		rule := "yaml-syntax"
		if strings.Contains(tt.text, "*a") { // with the aliases written out
			rule = "too-large"
		}
		require.Equal(t, []string{fmt.Sprintf("%d:1 %s", tt.line, rule)}, brief(r.Findings), tt.text)
	}
	r := checkText("kind: RunRequest\n---\na: {{ .Values.a }}: b\n")
	require.Contains(t, r.Findings[0].Fix, "helm template")
}

// What is broken in one document hides nothing in another.
func TestDocumentsAreReadByThemselves(t *testing.T) {
	r := checkText("a: b: c\n---\n" + with("  pollingInterval: 0\n") + "---\na: @\n")
	require.Equal(t, []string{"1:1 yaml-syntax", "8:20 polling-interval-below-1", "23:1 yaml-syntax"}, brief(r.Findings))
	many := checkText(with(strings.Repeat("  x: 1\n", 6000)))
	i := slices.IndexFunc(many.Findings, func(f lint.Finding) bool { return f.Rule == "too-large" })
	require.Equal(t, "more than 5000 findings in a file, or 20000 in all: lint shows no more. Fix these first.", many.Findings[i].Message())
}

func TestNoScaledJob(t *testing.T) {
	for _, text := range []string{"", "# nothing\n---\n", "- a\n", "a: 1\n", "kind: Deployment\n---\nkind: X", "a: 1\na: 2\n", "a: b: c\n", "a: {{ x }}: b\n", "kind: KedaController",
		"apiVersion: batch.miracle.dev/v1\nkind: ScaledJob\nmetadata: {name: A}\n", "apiVersion: keda.sh/v1alpha1\nkind: KedaController\nmetadata: {name: a}\n"} {
		r := checkText(text)
		require.Empty(t, r.Findings, text)
		require.Zero(t, r.ScaledJobs)
	}
	require.Empty(t, lint.Check(nil).Findings)
	two := lint.Check([]lint.File{{Name: "a", Data: []byte("apiVersion: v1\nkind: Secret")}, {Name: "b", Data: []byte(minimal)}})
	require.Empty(t, two.Findings)
	misspelled := checkText(strings.Replace(minimal, "ScaledJob", "scaledjob", 1))
	require.Equal(t, []string{"2:7 wrong-kind"}, brief(misspelled.Findings))
	require.Equal(t, 1, misspelled.ScaledJobs)
}

// References are looked up in all files, whichever comes first.
func TestReferencesAcrossFiles(t *testing.T) {
	const (
		envFrom   = "            envFrom:\n              - secretRef:\n                  name: orders\n"
		secret    = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: %s\n"
		inShop    = "  namespace: shop\n"
		inBilling = "billing"
	)
	job := strings.Replace(minimal, ":1\n", ":1\n"+envFrom, 1)
	job = strings.Replace(job, "  name: orders\n", "  name: orders\n"+inShop, 1)
	for _, tt := range []struct {
		name, secret string
		want         lint.Severity
	}{
		{"given", fmt.Sprintf(secret, "orders", "shop"), 0},
		{"given without a namespace", "apiVersion: v1\nkind: Secret\nmetadata: {name: orders}\n", 0},
		{"in another namespace", fmt.Sprintf(secret, "orders", inBilling), lint.Warning},
		{"of another name", fmt.Sprintf(secret, "invoices", "shop"), lint.Warning},
		{"an external one", "kind: ExternalSecret\nmetadata: {name: x}\nspec: {target: {name: orders}}\n", 0},
		{"none", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orders}\n", lint.Note},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := []lint.File{{Name: "a", Data: []byte(job)}, {Name: "b", Data: []byte(tt.secret)}}
			r := lint.Check(files)
			require.Equal(t, tt.want, r.Worst())
			slices.Reverse(files)
			reversed := lint.Check(files)
			require.Equal(t, r.Findings, reversed.Findings)
		})
	}
}

// What is wrong with a TriggerAuthentication is found where it is.
func TestAuthenticationInAnotherFile(t *testing.T) {
	job := minimal + "      authenticationRef: {name: orders}\n    - type: prometheus\n      metadata: {serverAddress: \"http://a.b\", query: a, threshold: \"5\"}\n      authenticationRef: {name: orders}\n"
	const authentication = "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: orders}\nspec:\n  env:\n    - {parameter: token, name: NOPE}\n" +
		"  secretTargetRef:\n    - {parameter: ca, name: orders, key: nope}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: orders}\ndata: {key: eA==}\n"
	r := lint.Check([]lint.File{{Name: "a", Data: []byte(job)}, {Name: "b", Data: []byte(authentication)}})
	require.Equal(t, []string{"6:32 missing-environment", "8:42 missing-key"}, brief(r.Findings))
	require.Equal(t, "b", r.Findings[0].File)
	require.Equal(t, "orders", r.Findings[0].Object)
}

// Of one finding for several ScaledJobs, the worst is kept, in any order.
func TestWorstOfAll(t *testing.T) {
	one := func(name, envFrom string) string {
		job := strings.Replace(strings.Replace(minimal, "name: orders", "name: "+name, 1), "orders:1\n", "orders:1\n"+envFrom, 1)
		return job + "      authenticationRef: {name: shared}\n---\n"
	}
	const unknown, field = "            envFrom: [{secretRef: {name: elsewhere}}]\n", "            env: [{name: NOPE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n"
	const authentication = "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: shared}\nspec: {env: [{parameter: token, name: NOPE}]}\n"
	for _, jobs := range [][]string{
		{one("note", unknown), one("wrong", "")}, {one("note", unknown), one("second", unknown), one("wrong", field+unknown)},
		{one("given", "            env: [{name: NOPE, value: x}]\n"), one("wrong", "")},
	} {
		for range 2 {
			r := checkText(strings.Join(jobs, "") + authentication)
			i := slices.IndexFunc(r.Findings, func(f lint.Finding) bool { return f.Rule == "missing-environment" })
			require.Equal(t, lint.Error, r.Findings[i].Severity, jobs)
			require.Equal(t, "wrong", r.Findings[i].Object)
			require.False(t, slices.ContainsFunc(r.Findings[i+1:], func(f lint.Finding) bool { return f.Rule == "missing-environment" }))
			slices.Reverse(jobs)
		}
	}
}

// What a tool replaces before the API server reads it is no error. A key is.
func TestReplacedValues(t *testing.T) {
	for lines, want := range map[string]lint.Severity{
		"  maxReplicaCount: ${MAX}\n": lint.Note, "  pollingInterval: \"${EVERY:=30}\"\n": lint.Note, "  maxReplicaCount: $MAX\n": lint.Note,
		"  maxReplicaCount: {{MAX}}\n": lint.Note, "  maxReplicaCount: __MAX__\n": lint.Note, "  maxReplicaCount: <max>\n": lint.Note, "  maxReplicaCount: \"%max%\"\n": lint.Note,
		"  maxReplicaCount: {max}\n": lint.Note, "  maxReplicaCount: \"{max_replicas}\"\n": lint.Note,
		"  maxReplicaCont: ${MAX}\n": lint.Error, "  maxReplicaCount: ${}\n": lint.Error,
	} {
		r := checkText(with(lines))
		require.Equal(t, want, r.Worst(), lines)
		notes := slices.DeleteFunc(slices.Clone(r.Findings), func(f lint.Finding) bool { return f.Rule != "placeholder" })
		require.Equal(t, lines != "  maxReplicaCount: ${}\n", len(notes) == 1, lines)
	}
	const authentication = "---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a}\nspec: "
	container := func(more string) string {
		return strings.Replace(minimal, "            image:", "            "+more+"\n            image:", 1)
	}
	for text, want := range map[string]string{
		withTrigger("", `{type: redis, name: "${N}", metadata: {address: "a:1", listName: a}}`+"\n    - "+`{type: redis, name: "${N}", metadata: {address: "a:1", listName: b}}`): "error trigger-name-duplicate",
		container(`env: [{name: "A${N}", value: x}, {name: "A${N}", value: x}]`):                                                                                                  "error variable-duplicate",
		container(`command: [sh, -c, "cd ${HOME}; run $(NONE)"]`):                                                                                                                 "warning variable-unknown",
		withTrigger("", `{type: elasticsearch, metadata: {addresses: "${A}", cloudID: "${C}", index: i, query: q, valueLocation: v, targetValue: "5"}}`):                          "error trigger-rejected",
		withTrigger("", `{type: aws-sqs-queue, metadata: {queueURL: "${U}", awsRegion: eu-west-1, queueLength: "5", identityOwner: operator}}`):                                   "no trigger-key-ineffective",
		withTrigger("", `{type: rabbitmq, metadata: {host: "amqp://a", queueName: q, mode: "${M}", value: "5"}}`):                                                                 "no trigger-value-unknown",
		container(`env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: "${KEY}"}}}]`) + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==}\n":          "no missing-key",
		with("  rolloutStrategy: gradual\n  rollout: {strategy: \"${R}\"}\n"):                                                                                                     "no rollout-deprecated-wins",
		with("  rolloutStrategy: gradual\n  rollout: {strategy: immediate}\n"):                                                                                                    "error rollout-deprecated-wins",
		with("  minReplicaCount: 5\n  maxReplicaCount: ${MAX}\n"):                                                                                                                 "no min-without-max",
		with("  scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: \"0.5\", customScalingQueueLengthDeduction: \"${D}\"}\n"):                                  "no custom-without-deduction",
		with("  scalingStrategy: {strategy: \"${S}\", customScalingQueueLengthDeduction: 1}\n"):                                                                                   "no custom-parameters-unused",
		minimal + authentication + `{oauth2: {tokenUrl: "${URL}"}}`:                                                                                                               "no authentication-rejected",
	} {
		severity, rule, _ := strings.Cut(want, " ")
		r := checkText(text)
		i := slices.IndexFunc(r.Findings, func(f lint.Finding) bool { return f.Rule == rule })
		require.Equal(t, severity != "no", i >= 0, "%s\n%s", text, brief(r.Findings))
		if i >= 0 {
			require.Equal(t, severity, r.Findings[i].Severity.String(), "%s\n%s", text, brief(r.Findings))
		}
	}
}

func TestIgnore(t *testing.T) {
	for _, tt := range []struct {
		name, lines string
		want        []string
		ignored     int
	}{
		{"on the line", "  pollingInterval: 0 # scaledjob:ignore polling-interval-below-1\n", nil, 1},
		{"with a reason", "  pollingInterval: 0 # scaledjob:ignore polling-interval-below-1 a test\n", nil, 1},
		{"on the line above", "  # scaledjob:ignore polling-interval-below-1\n  pollingInterval: 0\n", nil, 1},
		{"above another comment", "  #scaledjob:ignore polling-interval-below-1\n  # why\n  pollingInterval: 0\n", nil, 1},
		{"above another line", "  # scaledjob:ignore polling-interval-below-1\n\n  pollingInterval: 0\n", []string{"8:20 polling-interval-below-1"}, 0},
		{"behind the line above", "  maxReplicaCount: 5 # scaledjob:ignore polling-interval-below-1\n  pollingInterval: 0\n", []string{"7:20 polling-interval-below-1"}, 0},
		{"another rule", "  pollingInterval: 0 # scaledjob:ignore min-negative\n", []string{"6:20 polling-interval-below-1"}, 0},
		{"several", "  pollingInterval: 0 # scaledjob:ignore min-negative,polling-interval-below-1\n", nil, 1},
		{"no rule", "  pollingInterval: 0 # scaledjob:ignore\n", []string{"6:20 polling-interval-below-1"}, 0},
		{"an unknown rule", "  pollingInterval: 0 # scaledjob:ignore polling-interval\n", []string{"6:20 polling-interval-below-1", "6:41 unknown-ignore"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := checkText(with(tt.lines))
			require.Equal(t, tt.want, brief(r.Findings))
			require.Equal(t, tt.ignored, r.Ignored)
		})
	}
}

// Labels hold 63 characters.
func TestNameTooLong(t *testing.T) {
	for n, want := range map[int]bool{63: false, 64: true} {
		r := checkText(strings.Replace(minimal, "name: orders", "name: "+strings.Repeat("a", n), 1))
		require.Equal(t, want, has(r, "name-too-long"), n)
	}
}

func TestSampleManifests(t *testing.T) {
	for name, want := range map[string][]string{
		// The Secret is for the cluster to have; the host was meant as hostFromEnv.
		"orders.yaml":   {"18:40 missing-secret", "19:20 min-is-additional", "22:13 metric-unknown"},
		"rabbitmq.yaml": {"20:25 missing-secret", "26:15 custom-exceeds-max", "27:40 deduction-starves", "33:15 host-not-a-url"},
	} {
		data, err := testdata.Files.ReadFile("manifests/" + name)
		require.NoError(t, err)
		r := checkText(string(data))
		require.Equal(t, want, brief(r.Findings))
		require.Equal(t, lint.Note, r.Findings[0].Severity)
	}
	all, err := testdata.Files.ReadDir("manifests")
	require.NoError(t, err)
	require.Len(t, all, 2)
}
