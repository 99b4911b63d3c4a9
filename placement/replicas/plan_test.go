package replicas_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/replicas"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// second is a time in seconds; nil for the zero time.
func second(t time.Time) *int {
	if t.IsZero() {
		return nil
	}
	return new(int(t.Sub(epoch) / time.Second))
}

// A line is one poll: the seconds since the last, the observation of each cluster, and
// the shares of the plan.
//
//	observation  name:replicas[/existing][!problem], separated by spaces
//	shares       name:desired[>written][ reason]
type line struct {
	after    int
	asked    int32
	clusters string
	want     string
	reason   replicas.Reason
}

var problems = map[string]replicas.Reason{
	"away": replicas.ReasonUnreachable, "missing": replicas.ReasonWorkloadMissing,
	"failed": replicas.ReasonWriteFailed, "notasked": replicas.ReasonNotAsked, "cut": replicas.ReasonUnconfirmed,
}

func clusters(t *testing.T, text string) (all []replicas.Cluster) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		word, problem, _ := strings.Cut(word, "!")
		name, numbers, _ := strings.Cut(word, ":")
		c := replicas.Cluster{Name: name, Problem: problems[problem]}
		var existing int32
		switch n, _ := fmt.Sscanf(numbers, "%d/%d", &c.Replicas, &existing); n {
		case 2:
			c.Existing = &existing
		case 0:
			require.NotEmpty(t, problem, word)
		}
		all = append(all, c)
	}
	return all
}

func shares(p replicas.Decision) string {
	var all []string
	for _, s := range p.Shares {
		text := fmt.Sprintf("%s:%d", s.Name, s.Desired)
		if s.Write {
			text += fmt.Sprintf(">%d", s.Next)
		}
		if s.Reason != "" {
			text += " " + string(s.Reason)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// play plans line by line. The checkpoint goes from plan to plan as JSON.
func play(t *testing.T, p replicas.Policy, lines []line) replicas.Decision {
	t.Helper()
	var checkpoint replicas.Checkpoint
	var plan replicas.Decision
	now := epoch
	for i, l := range lines {
		now = now.Add(seconds(l.after))
		s := replicas.Observation{Replicas: &l.asked, Clusters: clusters(t, l.clusters), Now: now}
		plan = replicas.Decide(p, s, checkpoint)
		require.Equal(t, l.want, shares(plan), "line %d\n%s", i+1, plan)
		require.Equal(t, l.reason, plan.Reason, "line %d\n%s", i+1, plan)
		data, err := json.Marshal(plan.Checkpoint)
		require.NoError(t, err)
		checkpoint = replicas.Checkpoint{}
		require.NoError(t, json.Unmarshal(data, &checkpoint))
		require.Equal(t, plan.Checkpoint, checkpoint)
	}
	return plan
}

func members(weights ...int32) (all []replicas.Member) {
	for i, w := range weights {
		all = append(all, replicas.Member{Name: string(rune('a' + i)), Weight: w})
	}
	return all
}

// A member without the workload has no share, so that nobody shrinks for it. When it
// has the workload, its replicas exist before another member gives any up.
func TestWorkloadMissing(t *testing.T) {
	play(t, replicas.NewPolicy(100), []line{
		{0, 10, "a:10", "a:10", ""},
		{30, 10, "a:10 b!missing", "a:10, b:0 WorkloadMissing", ""},
		{300, 10, "a:10 b!missing", "a:10, b:0 WorkloadMissing", ""},
		{30, 10, "a:10 b:0", "a:5, b:5>5", ""},
		{30, 10, "a:10 b:5/0", "a:5, b:5", ""},
		{30, 10, "a:10 b:5/2", "a:5>8, b:5", ""},
		{30, 10, "a:8 b:5/5", "a:5>5, b:5", ""},
		{30, 10, "a:5 b!missing", "a:10>10, b:0 WorkloadMissing", ""},
	})
	plan := play(t, replicas.NewPolicy(100), []line{{0, 10, "a!missing b!missing", "a:0 WorkloadMissing, b:0 WorkloadMissing", replicas.ReasonNoMembers}})
	require.Equal(t, "10 replicas, no member is registered and has weight and the workload, 10 unplaced", strings.Split(plan.String(), "\n")[0])
}

// A member that has what was ordered, but whose writes fail now, gives up nothing that
// the others do not have.
func TestWritesFailLater(t *testing.T) {
	play(t, replicas.NewPolicy(100), []line{
		{0, 10, "a:5 b:5", "a:5, b:5", ""},
		{30, 12, "a:5 b:5!failed", "a:6>6, b:6>6 WriteFailed", ""},
		{90, 12, "a:6 b:5!failed", "a:12>12, b:0>5 WriteFailed", ""},
		{30, 12, "a:12/6 b:5!failed", "a:12, b:0>5 WriteFailed", ""},
		{30, 12, "a:12 b:5!failed", "a:12, b:0>0 WriteFailed", ""},
		{30, 12, "a:12 b:5", "a:6>7, b:6>6", ""},
	})
	p := replicas.NewPolicy(100)
	p.GracePeriod = 0 // what it lacks is not there for the others
	play(t, p, []line{{0, 10, "a:5/1!failed b:8/2 c:5/0", "a:0>5 WriteFailed, b:5, c:5", ""}})
}

// Pods that are never created: the others get the part that is missing, and the member
// is tried again later.
func TestNoProgress(t *testing.T) {
	play(t, replicas.NewPolicy(100), []line{
		{0, 10, "a:5 b:5/3", "a:5, b:5", ""},
		{299, 10, "a:5 b:5/3", "a:5, b:5", ""},
		{1, 10, "a:5 b:5/3", "a:7>7, b:3>4 NoProgress", ""},
		{30, 10, "a:7 b:4/3", "a:7, b:3 NoProgress", ""},
		{9999, 12, "a:7 b:4/3", "a:9>9, b:3 NoProgress", ""},
		{30, 2, "a:9 b:4/3", "a:1>1, b:1>1 NoProgress", ""},
		{0, 12, "a:9 b:4/3", "a:9, b:3 NoProgress", ""},
		{30, 12, "a:9 b:4/4", "a:6>8, b:6>6", ""},
		{290, 12, "a:8 b:6/5", "a:6>7, b:6", ""},
		{299, 12, "a:7 b:6/5", "a:6, b:6", ""},
		{1, 12, "a:7 b:6/5", "a:7, b:5 NoProgress", ""},
	})
	p := replicas.NewPolicy(100)
	p.ProgressDeadline = 0
	play(t, p, []line{{0, 10, "a:5 b:5/3", "a:5, b:5", ""}, {9999, 10, "a:5 b:5/3", "a:5, b:5", ""}})
	play(t, replicas.NewPolicy(100), []line{
		{0, 10, "a:5/1 b:5/3", "a:5, b:5", ""},
		{300, 10, "a:5/1 b:5/3", "a:5 NoProgress, b:5 NoProgress", ""}, // nobody is there to take the rest
	})
}

// If the clock is set back by a day, a failure that began before begins at that time. Nobody
// waits for a day.
func TestClockIsSetBack(t *testing.T) {
	const day = 24 * 60 * 60
	p := replicas.NewPolicy(100)
	play(t, p, []line{
		{day, 10, "a:5 b:5!away", "a:5, b:5 Unreachable", ""},
		{-day, 10, "a:5 b:5!away", "a:5, b:5 Unreachable", ""},
		{59, 10, "a:5 b:5!away", "a:5, b:5 Unreachable", ""},
		{1, 10, "a:5 b:5!away", "a:10>10, b:0 Unreachable", ""},
	})
}

// A member without progress that is above its share does not keep the members after it
// from shrinking, and its missing replicas do not count against the maximum.
func TestNoProgressAtTheMaximum(t *testing.T) {
	play(t, replicas.NewPolicy(100), []line{
		{0, 10, "a:5/3 b:5", "a:5, b:5", ""},
		{300, 10, "a:5/3 b:5", "a:3>4 NoProgress, b:7>7", ""},
		{0, 2, "a:4/3 b:7", "a:1>1 NoProgress, b:1>1", ""},
	})
	p := replicas.NewPolicy(10)
	p.MaxSurge = 0
	play(t, p, []line{{0, 10, "a:5 b:5/3", "a:5, b:5", ""}, {300, 10, "a:5 b:5/3", "a:7>7, b:3>4 NoProgress", ""}})
	p.ProgressDeadline = 1
	play(t, p, []line{{0, 10, "a:5 b:5/3", "a:5, b:5", ""}, {1, 10, "a:5 b:5/3", "a:7>7, b:3>4 NoProgress", ""}})
}

// Replicas that the maximum leaves for later are counted, also if their place is on a
// member that cannot be scaled down.
func TestRemaining(t *testing.T) {
	p := replicas.NewPolicy(10)
	plan := play(t, p, []line{{0, 10, "a:10 b:0", "a:5, b:5>2", ""}, {0, 10, "a!away b:2", "a:5 Unreachable, b:5", ""}})
	require.Equal(t, int32(3), plan.Remaining)
	require.Contains(t, plan.String(), ", 3 to move later")
}

// A member that is taken off the list is scaled to 0, after its replicas exist
// elsewhere. A cluster that was never on the list is left alone.
func TestNotListed(t *testing.T) {
	p := replicas.NewPolicy(100, members(1, 1)...)
	plan := replicas.Decide(p, replicas.Observation{Replicas: new(int32(6)), Clusters: clusters(t, "a:3 b:3 c:7"), Now: epoch}, replicas.Checkpoint{})
	require.Equal(t, "a:3, b:3", shares(plan))
	p.Members = members(1)
	step := func(observed, want string) replicas.Decision {
		t.Helper()
		plan = replicas.Decide(p, replicas.Observation{Replicas: new(int32(6)), Clusters: clusters(t, observed), Now: epoch}, plan.Checkpoint)
		require.Equal(t, want, shares(plan), "%s", plan)
		return plan
	}
	plan = step("a:3 b:3 c:7", "a:6>6, b:0 NotListed")
	require.Equal(t, "Cluster is no longer a member, and keeps 3 replicas until they exist elsewhere", plan.Shares[1].Description())
	step("a:6/3 b:3 c:7", "a:6, b:0 NotListed")
	step("a:6/5 b:3 c:7", "a:6, b:0>1 NotListed")
	step("a:6 b!away c:7", "a:6, b:0 NotListed")
	plan = step("a:6/5 b:1 c:7", "a:6, b:0 NotListed")
	require.Equal(t, "Cluster is no longer a member, and keeps 1 replica until they exist elsewhere", plan.Shares[1].Description())
	plan = step("a:6 b:1 c:7", "a:6, b:0>0 NotListed")
	require.Equal(t, "Cluster is no longer a member, and gets no replicas", plan.Shares[1].Description())
	step("a:6 b:0 c:7", "a:6")
	step("a:6 b:9 c:7", "a:6") // those of another owner

	p.Members = members(0, 1)[1:]
	step("a:6 b:0", "a:0 NotListed, b:6>6")
}

// Unknown metrics leave everything as it is, also on a former member.
func TestHold(t *testing.T) {
	p := replicas.NewPolicy(100, members(1, 1)...)
	s := replicas.Observation{Replicas: new(int32(6)), Clusters: clusters(t, "a:3 b:3"), Now: epoch}
	checkpoint := replicas.Decide(p, s, replicas.Checkpoint{}).Checkpoint
	p.Members = members(1)
	for reason, change := range map[replicas.Reason]func(*replicas.Policy, *replicas.Observation){
		replicas.ReasonMetricsUnknown: func(_ *replicas.Policy, s *replicas.Observation) { s.Replicas = nil },
		replicas.ReasonNoMaximum:      func(p *replicas.Policy, _ *replicas.Observation) { p.Max = 0 },
	} {
		p, s := p, s
		change(&p, &s)
		plan := replicas.Decide(p, s, checkpoint)
		require.Equal(t, reason, plan.Reason)
		require.Equal(t, int32(6), plan.Total)
		require.Equal(t, checkpoint, plan.Checkpoint, reason)
		require.Equal(t, "a:3, b:3 NotListed", shares(plan))
	}
	require.Equal(t, replicas.Decision{Reason: replicas.ReasonNoMaximum, Shares: []replicas.Share{},
		Checkpoint: replicas.Checkpoint{Version: 1, Members: map[string]replicas.MemberCheckpoint{}},
	}, replicas.Decide(replicas.Policy{}, replicas.Observation{Replicas: new(int32(0))}, replicas.Checkpoint{}))
}

// A member with another reason to be without replicas keeps that reason without progress.
func TestReasonBeforeNoProgress(t *testing.T) {
	play(t, replicas.NewPolicy(100, members(1, 0)...), []line{
		{0, 10, "a:10 b:5/3", "a:10, b:0>0 NoWeight", ""},
		{300, 10, "a:10 b:5/3", "a:10, b:0>0 NoWeight", ""},
	})
}

// Whatever the reason is for which all are excluded, they keep their shares.
func TestAllExcludedByFailures(t *testing.T) {
	p := replicas.NewPolicy(100)
	p.GracePeriod = 0
	play(t, p, []line{
		{0, 12, "a:4 b:4 c:4", "a:4, b:4, c:4", ""},
		{0, 12, "a!away b:4!failed c!notasked d!missing", "a:4 Unreachable, b:4>4 WriteFailed, c:4 NotAsked, d:0 WorkloadMissing", replicas.ReasonAllExcluded},
	})
}

// At the maximum replicas move within the surge only; without one they stay, and the
// plan says so.
func TestSurge(t *testing.T) {
	p := replicas.NewPolicy(10, members(1, 1)...)
	require.Equal(t, int32(2), p.MaxSurge)
	require.Equal(t, int32(25), replicas.NewPolicy(100).MaxSurge)
	require.Equal(t, int32(1), replicas.NewPolicy(3).MaxSurge)
	play(t, p, []line{
		{0, 10, "a:10 b:0", "a:5, b:5>2", ""},
		{30, 10, "a:10 b:2/0", "a:5, b:5", ""},
		{30, 10, "a:10 b:2", "a:5>8, b:5", ""},
		{30, 10, "a:8 b:2", "a:5, b:5>4", ""},
		{30, 10, "a:8 b:4", "a:5>6, b:5", ""},
		{30, 10, "a:6 b:4", "a:5, b:5>5", ""},
		{30, 10, "a:6 b:5", "a:5>5, b:5", ""},
		{30, 10, "a:5 b:5", "a:5, b:5", ""},
	})
	p.MaxSurge = 0
	plan := play(t, p, []line{
		{0, 10, "a:6 b:4", "a:5, b:5", replicas.ReasonAtMax},
		{0, 10, "a:10 b:0", "a:5, b:5", replicas.ReasonAtMax},
		{30, 8, "a:10 b:0", "a:4>8, b:4", ""},
		{30, 8, "a:8 b:0", "a:4, b:4>2", ""},
		{30, 8, "a:8 b:2", "a:4>6, b:4", ""},
	})
	require.Equal(t, int32(2), plan.Remaining)
}

func TestCheckpointVersion(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":2,"members":[]}`: "version: found 2; use 1, the version of this release, or the release that wrote the checkpoint",
		`{"version":-1}`:             "version: found -1; use 1, the version of this release, or the release that wrote the checkpoint",
		`{"members":{"a":{}}}`:       "version: found 0; use 1, the version of this release, or the release that wrote the checkpoint",
		`{"version":"1"}`:            "json: cannot unmarshal string into Go struct field .version of type int",
		`{"version":1,"members":[]}`: "json: cannot unmarshal array",
	} {
		kept := replicas.Checkpoint{Version: 1}
		require.ErrorContains(t, json.Unmarshal([]byte(text), &kept), want, text)
		require.Equal(t, replicas.Checkpoint{Version: 1}, kept)
	}
	for _, text := range []string{`{}`, `{"version":1}`, `null`} {
		var c replicas.Checkpoint
		require.NoError(t, json.Unmarshal([]byte(text), &c), text)
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, new(replicas.NewPolicy(1)).Validate())
	require.NoError(t, new(replicas.NewPolicy(replicas.NoMax, replicas.NewMember("a"), replicas.Member{Name: "b"})).Validate())
	p := replicas.Policy{
		Min: -1, Max: 0, GracePeriod: -1, ProgressDeadline: -1, MaxSurge: -1,
		Members: []replicas.Member{{Name: "a"}, {Name: "a"}, {}},
	}
	require.EqualError(t, p.Validate(), `Min: found -1; use 0 or more
Max: found 0; use 1 or more
GracePeriod: found -1ns; use 0s or more
ProgressDeadline: found -1ns; use 0s or more
MaxSurge: found -1; use 0 or more
Members[1].Name: found "a"; use a name that no other member has
Members[2].Name: found nothing; use the name of a cluster
Members: found no weight; use at least one weight above 0`)
	p = replicas.NewPolicy(3, replicas.Member{Name: "a", Weight: -1})
	p.Min = 4
	require.EqualError(t, p.Validate(), "Min: found 4; use 3 or less\nMembers[0].Weight: found -1; use 0 or more")
	p = replicas.NewPolicy(0, replicas.NewMember("a"))
	p.Min = 4
	require.EqualError(t, p.Validate(), "Max: found 0; use 1 or more")
	p.Max = 1
	require.EqualError(t, p.Validate(), "Min: found 4; use 1 or less")
}

// A member that shows more than was written to it, such as a liar, takes no share.
func TestShowsMoreThanOrdered(t *testing.T) {
	for _, existing := range []int32{0, 2, 5, 10, 20} { // of the liar
		p, total := replicas.NewPolicy(20, replicas.Member{Name: "honest", Weight: 9}, replicas.Member{Name: "liar", Weight: 1}), int32(20)
		honest, now, before, ordered := int32(9), epoch, replicas.Checkpoint{}, (*int32)(nil)
		for poll := range 9 { // then the liar is excluded
			plan := replicas.Decide(p, replicas.Observation{Replicas: &total, Now: now, Clusters: []replicas.Cluster{
				{Name: "honest", Replicas: honest}, {Name: "liar", Replicas: 20, Existing: &existing, Ordered: ordered},
			}}, before)
			require.LessOrEqual(t, plan.Shares[0].Next+plan.Shares[1].Next, p.Max+p.MaxSurge, plan)
			if ordered = nil; plan.Shares[1].Write {
				ordered = &plan.Shares[1].Next
			}
			if poll > 3 {
				require.Equal(t, []int32{18, 2}, []int32{plan.Shares[0].Next, plan.Shares[1].Next}, "poll %d, %d exist", poll, existing)
			}
			honest, before, now = plan.Shares[0].Next, plan.Checkpoint, now.Add(30*time.Second)
		}
	}
}

// While the hub may be cut off no time counts against a member, and its grace period begins
// anew. A member that is excluded stays so. The caller may know since when a member is away.
func TestUnconfirmed(t *testing.T) {
	play(t, replicas.NewPolicy(100), []line{
		{0, 8, "a:4 b:4", "a:4, b:4", ""},
		{30, 8, "a!away b:4", "a:4 Unreachable, b:4", ""},
		{20, 8, "a!cut b!cut", "a:4 Unconfirmed, b:4 Unconfirmed", ""},
		{3600, 8, "a!cut b!cut", "a:4 Unconfirmed, b:4 Unconfirmed", ""},
		{1, 8, "a!away b:4", "a:4 Unreachable, b:4", ""},
		{59, 8, "a!away b:4", "a:4 Unreachable, b:4", ""},
		{1, 8, "a!away b:4", "a:0 Unreachable, b:8>8", ""},
		{9, 8, "a!cut b!cut", "a:0 Unconfirmed, b:8 Unconfirmed", ""},
		{3600, 8, "a!cut b:8", "a:0 Unconfirmed, b:8", ""},
		{9, 8, "a:4 b:8", "a:4, b:4>4", ""},
	})
	p := replicas.NewPolicy(100)
	s := replicas.Observation{Replicas: new(int32(8)), Clusters: clusters(t, "a:4 b:4"), Now: epoch}
	checkpoint := replicas.Decide(p, s, replicas.Checkpoint{}).Checkpoint
	s.Clusters, s.Now = clusters(t, "a!away b:4"), epoch.Add(time.Hour)
	s.Clusters[0].Since = s.Now.Add(-50 * time.Second)
	plan := replicas.Decide(p, s, checkpoint)
	require.Equal(t, s.Now.Add(10*time.Second), plan.NextCheck)
	s.Now = plan.NextCheck
	require.Equal(t, "a:0 Unreachable, b:8>8", shares(replicas.Decide(p, s, checkpoint)))
}
