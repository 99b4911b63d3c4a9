package taint

import "time"

// A Fleet judges which clusters do not answer, from calls that no tenant can influence:
// health checks, lists and watches. The zero value knows no cluster, and its taints last
// for 0. A Fleet must not be used from several goroutines at once.
//
// A failed call counts against a cluster only when another cluster has answered a request
// that was sent after the failure. Until then the caller may be cut off itself. So a single
// cluster is never tainted, nor is any cluster while none answers.
type Fleet struct {
	Durations Durations
	// MinInterval is the time after a failure that counts, before which no call was sent that
	// counts again. A call that was sent before the failure counted does not either.
	MinInterval time.Duration

	clusters map[string]*record
	answered time.Time // when a cluster last answered
}

// A record holds the answers and failures of a cluster.
type record struct {
	answers bool      // its last call was answered, if only with an error
	failed  time.Time // the first failure that does not count yet; zero if there is none
	counted time.Time // when a failure last counted
	taint   Taint
	from    time.Time     // since when its silence counts; zero while it does not
	before  time.Duration // silence that counted before that
}

// A Standing is the judgement of a cluster. The zero value holds nothing against it.
type Standing struct {
	Taint Taint
	// Since is the start of the time without an answer of the cluster, counted only
	// while another cluster answered. The zero time means that nothing counts at present.
	Since time.Time
}

// Answered notes that the cluster has answered, now, a call that was sent at that time.
func (f *Fleet) Answered(cluster string, sent, now time.Time) {
	c := f.record(cluster)
	c.failed, c.from, c.before = time.Time{}, time.Time{}, 0
	f.recordAnswer(cluster, sent, now)
}

// Refused notes that the cluster has answered with an error, now, a call that was sent at
// that time. The caller is not cut off, and the call counts against the cluster.
func (f *Fleet) Refused(cluster string, sent, now time.Time) {
	f.record(cluster).fail(f, sent, now)
	f.recordAnswer(cluster, sent, now)
}

// recordAnswer notes an answer, which makes failures of other clusters count.
func (f *Fleet) recordAnswer(cluster string, sent, now time.Time) {
	f.clusters[cluster].answers, f.answered = true, now
	for name, other := range f.clusters {
		if name == cluster || other.failed.IsZero() || !sent.After(other.failed) {
			continue
		}
		other.failed = time.Time{}
		if other.from.IsZero() {
			other.from = now
		}
		other.counted, other.taint = now, other.taint.Fail(f.Durations, now)
	}
}

// Failed notes that a call to the cluster, sent at that time, has ended without an
// answer, now.
func (f *Fleet) Failed(cluster string, sent, now time.Time) {
	c := f.record(cluster)
	c.answers = false
	c.fail(f, sent, now)
	if f.Answers() {
		return
	}
	for _, c := range f.clusters { // no silence counts while no cluster answers
		if !c.from.IsZero() {
			c.before += max(0, f.answered.Sub(c.from))
			c.from = time.Time{}
		}
	}
}

// fail notes a failure that may count once another cluster has answered.
func (c *record) fail(f *Fleet, sent, now time.Time) {
	counts := c.counted.IsZero() || c.from.IsZero() || sent.Sub(c.counted) > f.MinInterval
	if c.failed.IsZero() && counts {
		c.failed = now
	}
}

// Remove forgets a cluster.
func (f *Fleet) Remove(cluster string) { delete(f.clusters, cluster) }

// Answers reports whether the last call to some cluster was answered.
func (f *Fleet) Answers() bool {
	for _, c := range f.clusters {
		if c.answers {
			return true
		}
	}
	return false
}

// Standing returns the judgement of a cluster.
func (f *Fleet) Standing(cluster string, now time.Time) (s Standing) {
	if c := f.clusters[cluster]; c != nil {
		if s.Taint = c.taint.At(now); !c.from.IsZero() {
			s.Since = c.from.Add(-c.before)
		}
	}
	return s
}

func (f *Fleet) record(cluster string) *record {
	if f.clusters == nil {
		f.clusters = map[string]*record{}
	}
	if f.clusters[cluster] == nil {
		f.clusters[cluster] = &record{}
	}
	return f.clusters[cluster]
}
