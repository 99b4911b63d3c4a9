package rollout

// A Revision is what a Job was made from, or would be made from now. The zero
// value is unknown.
type Revision struct {
	Generation   int64  // metadata.generation of the owner, from 1; 0 and below are unknown
	TemplateHash string // of the Job template, however the caller makes it; "" is unknown
}

// A Job is what the rule needs to know of one. The zero value is of an unknown
// revision, and never chosen.
type Job struct {
	Revision Revision
	// NeverStarted says that no pod of the Job has ever started. Where that is not
	// known it stays false.
	NeverStarted bool
	Finished     bool
	Deleting     bool // has a deletion timestamp
}

// Choose returns the indexes of the Jobs to delete, lowest first. It is nil when
// there are none, and always when the current revision is unknown. The Jobs are
// not modified.
//
// Each Job is judged by itself, whatever the others are (FuzzEachByItself), and
// what must never be touched is not (FuzzNeverTouched). The cost is linear in the
// Jobs (BenchmarkChoose), with no allocation but the result (TestAllocations).
func Choose(p Policy, current Revision, jobs []Job) []int {
	if p.Strategy != Immediate && p.Strategy != Drain {
		return nil
	}
	n := 0
	for i := range jobs {
		if p.deletes(&jobs[i], current) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	chosen := make([]int, 0, n)
	for i := range jobs {
		if p.deletes(&jobs[i], current) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// deletes reports whether the Job goes, under Immediate or Drain.
func (p Policy) deletes(j *Job, current Revision) bool {
	switch {
	case j.Finished || j.Deleting:
		return false
	case p.Strategy == Drain && !j.NeverStarted:
		return false
	}
	return p.old(j.Revision, current)
}

// old reports whether a Job of revision r is older than the current one.
func (p Policy) old(r, current Revision) bool {
	if r.Generation <= 0 || r.Generation >= current.Generation {
		return false
	}
	known := r.TemplateHash != "" && current.TemplateHash != ""
	return !p.TemplateOnly || known && r.TemplateHash != current.TemplateHash
}
