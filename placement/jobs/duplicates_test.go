package jobs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// pairStates are the states of a Job in the table of the package comment.
var pairStates = map[string][]func(*fleet, *jobs.Cluster, jobs.Job){
	"pending":      {inPhase(jobs.Pending)},
	"unconfirmed":  {func(_ *fleet, c *jobs.Cluster, j jobs.Job) { j.Unconfirmed = true; add(c, j, jobs.Pending) }},
	"running":      {inPhase(jobs.Running)},
	"pending-away": {away(jobs.Pending)},
	"running-away": {away(jobs.Running)},
	"succeeded":    {inPhase(jobs.Succeeded), away(jobs.Succeeded)},
	"failed":       {inPhase(jobs.Failed), away(jobs.Failed)},
	"gone": {
		func(*fleet, *jobs.Cluster, jobs.Job) {},
		func(_ *fleet, c *jobs.Cluster, j jobs.Job) { j.Deleting = true; add(c, j, jobs.Running) },
	},
}

func add(c *jobs.Cluster, j jobs.Job, phase jobs.Phase) {
	j.Phase, j.PendingSince = phase, at(-1)
	c.Jobs = append(c.Jobs, j)
}

func inPhase(phase jobs.Phase) func(*fleet, *jobs.Cluster, jobs.Job) {
	return func(_ *fleet, c *jobs.Cluster, j jobs.Job) { add(c, j, phase) }
}

func away(phase jobs.Phase) func(*fleet, *jobs.Cluster, jobs.Job) {
	return func(_ *fleet, c *jobs.Cluster, j jobs.Job) {
		c.Reach, c.Since = jobs.Unreachable, at(-1)
		add(c, j, phase)
	}
}

// Each cell of the table in the package comment is what the package does.
func TestTableOfDuplicates(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	policies := map[jobs.Duplication]bool{jobs.PreferFailover: true, jobs.PreferSource: true, jobs.ImmediateSourceCleanup: true}
	var policy jobs.Duplication
	var columns []string
	cells, rows := 0, map[string]int{}
	for line := range strings.Lines(string(source)) {
		words := strings.Fields(strings.TrimPrefix(line, "//"))
		switch {
		case !strings.HasPrefix(line, "//\t"):
			policy = ""
		case policies[jobs.Duplication(words[0])]:
			policy, columns = jobs.Duplication(words[0]), words[1:]
		case policy != "" && len(words) == len(columns)+1:
			rows[words[0]]++
			for i, cell := range words[1:] {
				testPair(t, policy, words[0], columns[i], cell)
				cells++
			}
		}
	}
	require.Len(t, rows, 7, "%v", rows)
	require.Equal(t, 3*7*7, cells)
	for state := range pairStates {
		if state != "unconfirmed" && state != "gone" {
			require.Contains(t, columns, state)
			require.Equal(t, 3, rows[state], state)
		}
	}
}

// testPair checks that beside each other the source or the replacement is deleted, or neither.
func testPair(t *testing.T, policy jobs.Duplication, source, replacement, want string) {
	require.NotEmpty(t, pairStates[source], source)
	require.NotEmpty(t, pairStates[replacement], replacement)
	for _, place := range pairStates[source] {
		for _, placeOther := range pairStates[replacement] {
			f := newFleet("a", "b", "c")
			f.Failover.Duplication = policy
			place(f, f.cluster("a"), jobs.Job{Name: "S", UID: "s"})
			placeOther(f, f.cluster("b"), jobs.Job{Name: "R", UID: "r", Replaces: jobs.Source{UID: "s", Attempt: 1}})
			d, deleted := f.plan(), "-"
			for _, x := range d.Duplicates {
				require.Equal(t, "-", deleted, "%s: source %s, replacement %s: both", policy, source, replacement)
				deleted = x.Name
				require.Equal(t, f.cluster(x.Cluster).Reach != jobs.Reachable, x.Deferred)
			}
			require.Equal(t, want, deleted, "%s: source %s, replacement %s\n%s", policy, source, replacement, d)
		}
	}
}
