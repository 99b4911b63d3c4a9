package house

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A room is some directories of the root. Each has a goal for its lines of code and of tests, and a
// limit while it is above the goal. A commit that raises a limit says why beside it.
type room struct {
	directories string
	goal, limit size
}

type size struct{ code, tests int }

var rooms = []room{
	{"scaling strategy history rollout", size{2000, 2700}, size{2500, 2800}},
	{"field", size{500, 400}, size{530, 400}},    // errors of types that read themselves (6), plurals of all modules
	{"keda", size{1900, 1400}, size{1890, 1390}}, // recordings of KEDA's executor are replayed
	{"horizontal", size{1850, 1400}, size{1900, 1400}},
	{"slots", size{2300, 1200}, size{2600, 1360}},
	{"placement", size{2900, 4300}, size{3310, 5140}},               // a heap of tickets (15), which begins on a line found by interpolation (13)
	{"schedule", size{3000, 3800}, size{3650, 4560}},                // situations that people reported are tests
	{"simulation", size{3600, 2400}, size{4060, 2800}},              // a study refuses what it cannot run (8)
	{"adapter", size{10500, 10300}, size{12710, 13550}},             // how a rollout deletes (5 of tests), trackers on adaptertest, the warning of a file (11, 20 of tests), pending times in order (33), a lease whose requests hang and the timeout of a member (46 of tests), creates without an answer in a row (16 of tests), what servers said is told without credentials
	{"cmd", size{19000, 8000}, size{27170, 8990}},                   // what why did not see in strangers' pastes: warnings, deletions, cut polls, identities (107, 45 of tests), 15 mistakes in the threads of strangers, each checked on an API server: fractions, null, empty choices, list keys, hooks, marks of pods (178, 14 of tests), what an upgrade of KEDA deletes (20, 18 of tests), how the cost of a check grows, in place of a bound in seconds (38 of tests), what two readers of 121 public manifests called false or missed (100), no finding, fix or line shows a credential (55), problems of metadata by key (14), logs and dumps of any length are streamed within bounds of lines and bytes (460), conform 1,400, bounds of lint 250
	{"controllers examples", size{8500, 12000}, size{11040, 17350}}, // a deletion ends the turn under way (22), one comparison of schemas for the tests of two programs (94), repeated events without the right to patch (14), faults of single numbers on the control plane, conditions for each fact, a hostile API server for all four (170)
	{"test", size{3700, 6300}, size{4130, 6990}},                    // one watch of Jobs for tests of two modules (75), links into .git (2), recordings, Karmada's own shares, and each right is taken away by itself
	{"internal", size{1300, 800}, size{1320, 1200}},                 // errors of JSON name the field (19), a table of rights from the manifests (100); pages, their links and commands, and budgets are checked
}

// TestBudgets fails if a room has more lines than its limit, or if a limit is far above what the room
// has: whoever makes a room smaller lowers its limit.
func TestBudgets(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.go").Output()
	require.NoError(t, err)
	lines := map[string]*size{}
	for _, name := range strings.Fields(string(out)) {
		top, _, nested := strings.Cut(name, "/")
		if !nested || strings.Contains(name, "/testdata/") {
			continue
		}
		if lines[top] == nil {
			lines[top] = &size{}
		}
		if n := strings.Count(read(t, name), "\n"); strings.HasSuffix(name, "_test.go") {
			lines[top].tests += n
		} else {
			lines[top].code += n
		}
	}
	for _, r := range rooms {
		var has size
		for directory := range strings.FieldsSeq(r.directories) {
			require.NotNil(t, lines[directory], directory)
			has.code, has.tests = has.code+lines[directory].code, has.tests+lines[directory].tests
			delete(lines, directory)
		}
		t.Logf("%-34s %6d lines of code (goal %d), %6d of tests (goal %d)", r.directories, has.code, r.goal.code, has.tests, r.goal.tests)
		within(t, r.directories+": lines of code", has.code, r.goal.code, r.limit.code)
		within(t, r.directories+": lines of tests", has.tests, r.goal.tests, r.limit.tests)
	}
	delete(lines, "testdata")
	require.Empty(t, lines, "directories without a budget")
}

func within(t *testing.T, what string, n, goal, limit int) {
	t.Helper()
	assert.LessOrEqual(t, n, limit, what)
	assert.True(t, limit <= goal || limit <= n+n/20+100, "%s: lower the limit of %d, there are %d", what, limit, n)
}
