package house

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/scaling"
)

// command runs a command in the root of the repository and returns what it prints.
func command(t *testing.T, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	return string(out), err
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// blocks returns the contents of the code blocks of a language.
func blocks(text, language string) (all []string) {
	parts := strings.Split(text, "```")
	for i := 1; i < len(parts); i += 2 {
		if code, ok := strings.CutPrefix(parts[i], language+"\n"); ok {
			all = append(all, code)
		}
	}
	return all
}

// The commands of the README: make release-check installs and gets a release. The test
// command comes first in CI.
func TestReadmeCommands(t *testing.T) {
	var commands []string
	for _, block := range blocks(read(t, "README.md"), "") {
		if strings.HasPrefix(block, "$ ") {
			continue
		}
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, "#")
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	require.Equal(t, []string{
		"go install ./cmd/scaledjob",
		"go run ./examples/quickstart",
		"scaledjob conform -- ./yours",
		"go test ./...",
	}, commands)
	out, err := command(t, "go", "run", "./examples/quickstart")
	require.NoError(t, err)
	require.Contains(t, out, "create ")
	require.Contains(t, read(t, ".ci/run"), "\ngo test ./...\n")
}

// pages are those of users: the README and docs.
func pages(t *testing.T) []string {
	found, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(found, "README.md")
}

// The picture of the README shows the numbers of its example.
func TestPicture(t *testing.T) {
	d := scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}}, scaling.Observation{
		Metrics: []scaling.Metric{{Value: 47, Target: 5}}, Jobs: &scaling.JobCounts{Running: 4, Pending: 1},
	})
	want := fmt.Sprint(d.Trace.Demand.Queue, d.Trace.Demand.Jobs, d.Trace.Load.Target, d.Trace.Proposal, d.Create)
	var shown []string
	for _, number := range regexp.MustCompile(`class="number"[^>]*>([^<]*)<`).FindAllStringSubmatch(read(t, "docs/decision.svg"), -1) {
		shown = append(shown, number[1])
	}
	require.Equal(t, want, strings.Join(shown, " "))
}

// Each line "$ scaledjob ..." of a page, with the whole output below it. UPDATE=1 writes
// the outputs anew.
func TestPagesShowOutputs(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "scaledjob")
	_, err := command(t, "go", "build", "-o", bin, "./cmd/scaledjob")
	require.NoError(t, err)
	run := 0
	for _, name := range pages(t) {
		page := read(t, name)
		blocks := strings.Split(page, "```")
		for i := 1; i < len(blocks); i += 2 {
			var b strings.Builder
			for line := range strings.Lines(blocks[i]) {
				args, ok := strings.CutPrefix(line, "$ scaledjob ")
				if !ok {
					continue
				}
				run++
				out, _ := command(t, bin, strings.Fields(args)...) // findings are an exit status
				b.WriteString(line + out)
			}
			if b.Len() > 0 {
				blocks[i] = "\n" + b.String()
			}
		}
		got := strings.Join(blocks, "```")
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
		} else {
			require.Equal(t, got, page, name)
		}
	}
	require.GreaterOrEqual(t, run, 3)
}

// Each block of Go on a page is a piece of a file that is compiled and tested.
func TestPagesShowCode(t *testing.T) {
	var sources strings.Builder
	for _, name := range files(t, ".go") {
		for line := range strings.Lines(read(t, name)) {
			sources.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	shown := 0
	for _, name := range pages(t) {
		for _, block := range blocks(read(t, name), "go") {
			var code strings.Builder
			for line := range strings.Lines(block) {
				code.WriteString(strings.TrimSpace(line) + "\n")
			}
			shown++
			assert.Contains(t, sources.String(), code.String(), name)
		}
	}
	require.NotZero(t, shown)
}

// Each alert has a section that says what to do.
func TestAlertsAreExplained(t *testing.T) {
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, "controllers/scaledjob-controller/manifests/monitoring/alerts.yaml"), -1)
	require.Greater(t, len(alerts), 10)
	for _, alert := range alerts {
		assert.Contains(t, read(t, "docs/controllers.md"), "\n### "+alert[1]+"\n")
	}
}

var testNames = regexp.MustCompile(`(?:^|[^\w ]|[^c] )((?:Test|Fuzz|Benchmark)[A-Z]\w+…?)`) // not after "func "

// Each test, fuzz target and benchmark that a page or a comment names exists. A name that
// ends with … stands for all that begin so.
func TestNamedTestsExist(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (\w+)\(`)
	tests := map[string]bool{}
	for _, name := range files(t, "_test.go") {
		for _, m := range declared.FindAllStringSubmatch(read(t, name), -1) {
			tests[m[1]] = true
			for i := range m[1] {
				tests[m[1][:i]+"…"] = true
			}
		}
	}
	named := 0
	for _, name := range append(files(t, ".go"), files(t, ".md")...) {
		for line := range strings.Lines(read(t, name)) {
			text := line
			if strings.HasSuffix(name, ".go") {
				_, text, _ = strings.Cut(line, "//")
			}
			for _, test := range testNames.FindAllStringSubmatch(text, -1) {
				named++
				assert.True(t, tests[test[1]], "%s names %s", name, test[1])
			}
		}
	}
	require.Greater(t, named, 100)
}

// The table of docs/controllers.md has a row for each reason of Plan.Holds, and no other.
func TestHoldsAreDocumented(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/controllers.md"), "\n### Fewer Jobs than the queue asks for\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var documented, reasons []string
	for _, m := range regexp.MustCompile(`(?m)^\| \**([A-Z]\w+)\** \|`).FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1])
	}
	declared := map[string]*regexp.Regexp{
		"adapter": regexp.MustCompile(`slots\.Reason += "(\w+)"`), "slots": regexp.MustCompile(`\bReason += "(\w+)"`),
	}
	for _, name := range files(t, ".go") {
		if r := declared[filepath.Dir(name)]; r != nil && !strings.HasSuffix(name, "_test.go") {
			for _, m := range r.FindAllStringSubmatch(read(t, name), -1) {
				reasons = append(reasons, m[1])
			}
		}
	}
	require.NotEmpty(t, reasons)
	require.ElementsMatch(t, reasons, documented)
}

// files returns the files of all modules whose names end so.
func files(t *testing.T, suffix string) (all []string) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" && path != "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, suffix) {
			all = append(all, path)
		}
		return err
	}))
	return all
}
