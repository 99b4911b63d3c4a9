package replicas_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/test/premise"
)

// What plans order on the members that were read never grows above the maximum and the surge, a
// missing replica for each member without progress, and what others scaled up: over polls in which
// members stall, return, fail writes, grow alone and change weights.
func propBound(t *rapid.T, c *premise.Counts) {
	p := drawPolicy(t, few)
	p.Max = rapid.Int32Range(1, 12).Draw(t, "max")
	p.Members, p.ProgressDeadline = nil, seconds(rapid.IntRange(1, 5).Draw(t, "deadline"))
	var clusters []replicas.Cluster
	for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "members")] {
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: rapid.Int32Range(0, 3).Draw(t, "weight")})
		clusters = append(clusters, replicas.Cluster{Name: name, Replicas: rapid.Int32Range(0, 6).Draw(t, "replicas")})
	}
	s := replicas.Observation{Replicas: new(rapid.Int32Range(0, 12).Draw(t, "asked")), Clusters: clusters, Now: epoch}
	var checkpoint replicas.Checkpoint
	stalls, stalled, grows := rapid.SliceOfN(rapid.Bool(), len(clusters), len(clusters)).Draw(t, "stalls"), false, false
	for range rapid.IntRange(2, 25).Draw(t, "polls") {
		for i := range clusters {
			m := &clusters[i]
			m.Problem = ""
			switch rapid.IntRange(0, 15).Draw(t, "event") {
			case 0, 1:
				stalls[i] = !stalls[i]
			case 3:
				p.Members[i].Weight = rapid.Int32Range(0, 3).Draw(t, "weight")
			case 4:
				m.Problem = rapid.SampledFrom([]replicas.Reason{replicas.ReasonUnreachable, replicas.ReasonWriteFailed, replicas.ReasonUnconfirmed}).Draw(t, "problem")
			case 5:
				m.Replicas += rapid.Int32Range(1, 4).Draw(t, "others scale up")
			}
			ready := m.Replicas
			if m.Existing != nil && stalls[i] {
				ready = min(ready, *m.Existing)
			}
			m.Existing = &ready
		}
		plan := replicas.Decide(p, s, checkpoint)
		var before, after, scaledUp, withoutProgress int64
		for i, share := range plan.Shares {
			m := &clusters[i]
			if m.Problem != "" {
				continue
			}
			before, after = before+int64(share.Current), after+int64(share.Next)
			if m.Ordered != nil {
				scaledUp += int64(max(0, m.Replicas-*m.Ordered))
			}
			if share.Reason == replicas.ReasonNoProgress {
				withoutProgress++
			}
		}
		bound := int64(p.Max) + int64(max(0, p.MaxSurge)) + withoutProgress + scaledUp
		if after > max(before, bound) {
			t.Fatalf("%d ordered after %d, at most %d\n%s", after, before, bound, plan)
		}
		stalled, grows = stalled || withoutProgress > 0, grows || (withoutProgress > 0 && after > before)
		for i, share := range plan.Shares {
			if m := &clusters[i]; share.Write && m.Problem == "" {
				m.Replicas, m.Ordered = share.Next, new(share.Next)
			} else {
				m.Ordered = nil
			}
		}
		checkpoint, s.Now = plan.Checkpoint, s.Now.Add(seconds(rapid.IntRange(1, 8).Draw(t, "seconds")))
	}
	c.Note("a member makes no progress", stalled)
	c.Note("others grow beside it", grows)
}

func TestBound(t *testing.T) {
	premise.Check(t, propBound, premise.Least{"a member makes no progress": 0.1, "others grow beside it": 0.02})
}

func FuzzBound(f *testing.F) { premise.Fuzz(f, propBound) }
