package taint_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/taint"
)

var minutes = taint.Durations{Soft: 3 * time.Minute, Hard: 5 * time.Minute}

// A network is a hub and clusters that are checked each 10 s. A call takes a second, or
// its timeout of 5 s if the cluster is silent.
type network struct {
	taint.Fleet
	clusters []string
	broken   func(cluster string, at int) (how string) // "", refused, silent, or slow, which answers within 4 s
	calls    []call
}

func (n *network) fails(cluster string, at int) bool {
	how := n.broken(cluster, at)
	return how == "refused" || how == "silent"
}

type call struct {
	cluster   string
	sent, end int
	fails     bool
}

// newNetwork returns a network of so many clusters, c0 and so on.
func newNetwork(size int, broken func(cluster string, at int) string) *network {
	n := &network{Fleet: taint.Fleet{Durations: minutes, MinInterval: 5 * time.Second}, broken: broken}
	for i := range size {
		n.clusters = append(n.clusters, fmt.Sprint("c", i))
	}
	return n
}

// run plays seconds of checks; each cluster's begin offset seconds after the previous
// cluster's. check is called after each second.
func (n *network) run(seconds, offset int, check func(second int)) {
	for second := range seconds {
		for i, name := range n.clusters {
			if second%10 != i*offset%10 {
				continue
			}
			switch n.broken(name, second) {
			case "slow":
				n.calls = append(n.calls, call{name, second, second + 4, n.fails(name, second+4)})
			case "":
				n.calls = append(n.calls, call{name, second, second + 1, n.fails(name, second+1)})
			case "refused":
				n.calls = append(n.calls, call{name, second, second, true})
			case "silent":
				n.calls = append(n.calls, call{name, second, second + 5, true})
			}
		}
		for _, c := range n.calls {
			switch {
			case c.end != second:
			case c.fails:
				n.Failed(c.cluster, at(c.sent), at(second))
			default:
				n.Answered(c.cluster, at(c.sent), at(second))
			}
		}
		n.calls = slices.DeleteFunc(n.calls, func(c call) bool { return c.end == second })
		check(second)
	}
}

// Clusters fail 0 to 15 s apart and return in each order, after a restart of the hub in between
// or without: while none answers nothing begins and nothing counts; from the first return on the
// silence of the others counts from then; and a cluster that has returned has no silence. A slow
// cluster answers.
func TestReturnsInEachOrder(t *testing.T) {
	const begin, first, every = 100, 300, 13
	counted := 0
	for _, size := range []int{1, 2, 3, 10} {
		for _, how := range []string{"refused", "silent", "slow"} {
			for _, apart := range []int{0, 1, 7, 15} {
				for _, restart := range []int{0, begin + 7, 200, first + every/2} {
					for order := range min(size*(size-1)+1, 4) {
						returned := func(i int) int { return first + every*((i*(1+order/size)+order)%size) }
						n := newNetwork(size, func(c string, at int) string {
							i := int(c[1] - '0')
							if at >= begin+apart*i/max(1, size-1) && at < returned(i) {
								return how
							}
							return ""
						})
						before := map[string]taint.Standing{}
						n.run(first+every*size+40, order, func(second int) {
							if second == restart && restart > 0 {
								n.Fleet = taint.Fleet{Durations: minutes, MinInterval: 5 * time.Second}
								clear(before)
							}
							for i, c := range n.clusters {
								is, wrong := n.Standing(c, at(second)), false
								switch was := before[c]; {
								case how == "slow" || size == 1:
									wrong = is != taint.Standing{}
								case second > begin+apart+16 && second < first:
									wrong = !is.Since.IsZero() || is != was && is.Taint.Level != taint.None
								case second >= first && second < returned(i) && !is.Since.IsZero():
									wrong = is.Since.Before(at(first - apart - 16))
									counted++
								case second >= returned(i)+12:
									wrong = !is.Since.IsZero()
								}
								if wrong {
									t.Fatalf("%d %s, %d apart, restart at %d, order %d: %s at %d: %v", size, how, apart, restart, order, c, second, is)
								}
								before[c] = is
							}
						})
					}
				}
			}
		}
	}
	require.Greater(t, counted, 1000)
}

// One of several clusters that is away is tainted softly, then hard, and its silence
// counts from an answer of another cluster. A restart begins anew.
func TestOneIsAway(t *testing.T) {
	for _, size := range []int{2, 3, 10} {
		for _, how := range []string{"refused", "silent"} {
			for offset := range 10 {
				for _, from := range []int{0, 100} { // from the start too, as after a restart
					n := newNetwork(size, func(c string, at int) string {
						if c == "c0" && at >= from {
							return how
						}
						return ""
					})
					n.run(from+60, offset, func(int) {})
					name := fmt.Sprint(size, how, offset, from)
					is := n.Standing("c0", at(from+60))
					require.Equal(t, taint.Hard, is.Taint.Level, name)
					require.WithinRange(t, is.Since, at(from), at(from+27), name)
					for _, c := range n.clusters[1:] {
						require.Zero(t, n.Standing(c, at(from+60)), name)
					}
				}
			}
		}
	}
}

// Of two clusters with one down, the other's failure counts from the return of the first.
// The silence of the first counts only while the other answered.
func TestOtherReturns(t *testing.T) {
	f := taint.Fleet{Durations: minutes}
	f.Answered("a", at(0), at(0))
	f.Answered("b", at(0), at(0))
	f.Failed("a", at(10), at(10))
	f.Answered("b", at(9), at(11)) // sent before
	require.Zero(t, f.Standing("a", at(11)))
	f.Answered("b", at(12), at(13))
	require.Equal(t, taint.Standing{Taint: taint.Taint{Level: taint.Soft, Until: at(193)}, Since: at(13)}, f.Standing("a", at(13)))
	f.Failed("a", at(20), at(20))
	f.Answered("b", at(22), at(23))
	f.Failed("b", at(30), at(30))
	f.Failed("a", at(1000), at(1000))
	require.Zero(t, f.Standing("a", at(1000)).Since)
	require.Zero(t, f.Standing("b", at(1000)))
	require.False(t, f.Answers())
	f.Answered("b", at(2000), at(2001)) // 10 s of a's silence counted before
	require.Equal(t, at(1991), f.Standing("a", at(2001)).Since)
	f.Failed("b", at(2010), at(2010))
	f.Answered("a", at(3000), at(3001))
	require.Equal(t, taint.Standing{Taint: taint.Taint{Level: taint.Soft, Until: at(3181)}, Since: at(3001)}, f.Standing("b", at(3001)))
	require.Zero(t, f.Standing("a", at(3001)).Since)
	f.Remove("a")
	require.False(t, f.Answers())
}

// Failures that end together count once.
func TestApart(t *testing.T) {
	f := taint.Fleet{Durations: minutes, MinInterval: 5 * time.Second}
	for i := range 8 {
		f.Failed("a", at(i), at(i))
		f.Answered("b", at(i+1), at(i+1))
		want := taint.Soft
		if i >= 7 { // sent 6 s after the first one counted
			want = taint.Hard
		}
		require.Equal(t, want, f.Standing("a", at(i+1)).Taint.Level, i)
	}
}

// At every time: a cluster that answered last has no silence; the silence is at most the
// time since its last answer, and 0 for a cluster if no other ever answered after it failed.
func TestStandings(t *testing.T) {
	tainted := 0
	rapid.Check(t, func(t *rapid.T) {
		f := taint.Fleet{Durations: minutes}
		names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "clusters")]
		last := map[string]time.Time{}
		now, proof := 0, map[string]bool{} // another cluster answered a request sent after the failure
		failed := map[string]int{}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now += rapid.IntRange(0, 20).Draw(t, "later")
			c := rapid.SampledFrom(names).Draw(t, "of")
			if rapid.Bool().Draw(t, "answers") {
				sent := now - rapid.IntRange(0, 5).Draw(t, "took")
				f.Answered(c, at(sent), at(now))
				delete(failed, c)
				delete(proof, c)
				last[c] = at(now)
				for other, end := range failed {
					proof[other] = proof[other] || sent > end
				}
			} else {
				if _, ok := failed[c]; !ok {
					failed[c] = now
				}
				f.Failed(c, at(now), at(now))
			}
			for _, c := range names {
				is := f.Standing(c, at(now))
				if !is.Since.IsZero() {
					require.True(t, proof[c])
					require.False(t, is.Since.Before(last[c]))
					require.True(t, f.Answers())
				}
				if is.Taint.Level != taint.None {
					tainted++
				}
				require.False(t, len(names) == 1 && is != taint.Standing{})
			}
		}
	})
	require.Greater(t, tainted, 20)
}
