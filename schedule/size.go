package schedule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/history"
)

// The checkpoint takes at most about maxSize bytes as JSON. No run starts and no request is taken up
// while more than startBelow bytes are taken by other lists than Completed. An active run grows
// until it has completed, by at most about growth bytes.
const (
	maxSize    = 58 << 10
	startBelow = 50 << 10
	usualRun   = 400
	growth     = 150
)

const (
	maxRequested = 20 // requested runs that wait; other requests wait where they are
	// maxUnanswered is the number of completed runs without an answer to their requests. No other
	// request is taken up then.
	maxUnanswered      = 100
	rememberedRequests = 200 // requested runs that history has dropped, and that nobody asks for any more
	maxReason          = 300 // bytes of a reason of the API server
	maxName            = 60  // bytes of the name of a client
)

// fits returns how many of n runs the checkpoint has room for when the active runs have grown.
func (d *decider) fits(n int) int {
	active := d.Checkpoint
	active.Completed = nil
	if n <= 0 {
		return n
	}
	grown := bytesOf(active) + growth*(len(active.Running)+len(d.candidates(Run.tried)))
	return min(n, max(0, (startBelow-grown)/(usualRun+growth)))
}

// bytesOf returns the size of a value as JSON, which can express it.
func bytesOf(v any) int {
	data, _ := json.Marshal(v)
	return len(data)
}

// fit makes the checkpoint small enough. It drops the oldest completed runs, then the oldest scheduled
// runs that wait behind others, and at last completed runs whose requests are not answered.
func (d *decider) fit() {
	size := bytesOf(d.Checkpoint)
	dropRuns := func(unanswered bool) {
		d.drop(func(r Run) bool {
			drops := size > maxSize && (unanswered || !d.unanswered(r.Tag))
			if drops {
				size -= bytesOf(r) - 2*len(r.Tag) - 6
			}
			return drops
		})
	}
	dropRuns(false)
	size -= d.shed(size - maxSize)
	dropRuns(true)
	d.forgetDeleted()
}

// shed drops the oldest scheduled runs, of which others are in JSON with their due times, to save
// bytes. It returns the bytes saved.
func (d *decider) shed(bytes int) int {
	const entry = len(`{"dueAt":"2026-01-01T00:00:00Z"},`)
	n := int64((bytes + entry - 1) / entry)
	if n = min(n, d.Checkpoint.PendingScheduled()-wholeRuns); n <= 0 {
		return 0
	}
	shed := int64(0)
	d.discard(TooManyWaiting, func(Run) bool {
		shed++
		return shed <= n
	})
	return int(min(shed, n)) * entry
}

// short returns the start of a text, of at most some bytes.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// prune is rule 8.
func (d *decider) prune() {
	c := &d.Checkpoint
	jobs := make([]history.Job, len(c.Completed))
	for i, r := range c.Completed {
		jobs[i] = history.Job{Name: r.Tag, Outcome: history.Failed, Finished: r.Completed}
		if r.Success {
			jobs[i].Outcome = history.Succeeded
		}
	}
	outlived := map[string]bool{}
	for _, finished := range history.Decide(d.policy.History, history.Observation{Jobs: jobs}).Delete {
		outlived[jobs[finished.Index].Name] = true
	}
	d.drop(func(r Run) bool { return outlived[r.Tag] && !d.unanswered(r.Tag) })
	d.fit()
}

// forgetDeleted forgets the dropped runs whose Jobs are gone.
func (d *decider) forgetDeleted() {
	if d.JobsUnknown {
		return
	}
	c := &d.Checkpoint
	c.PendingDeletion = slices.DeleteFunc(c.PendingDeletion, func(tag string) bool {
		_, ok := d.jobs[tag]
		d.changed = d.changed || !ok
		return !ok
	})
}

// unanswered reports whether a request waits for the answer that its run has completed.
func (d *decider) unanswered(tag string) bool {
	answered, listed := d.answered[tag]
	return listed && !answered
}

// drop lets history drop completed runs.
func (d *decider) drop(which func(Run) bool) {
	c := &d.Checkpoint
	c.Completed = slices.DeleteFunc(c.Completed, func(r Run) bool {
		drops := which(r)
		if drops {
			c.PendingDeletion = append(c.PendingDeletion, r.Tag)
		}
		if drops && r.OnDemand {
			c.Requested = append(c.Requested, r.Tag)
		}
		return drops
	})
}
