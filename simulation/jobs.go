package simulation

import (
	"fmt"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

type phase uint8

const (
	unscheduled phase = iota // pending: its pod has no room
	starting                 // pending: its pod has room, and starts
	backingOff               // pending: its pod failed, and is not replaced yet
	warming                  // runs, and has not asked for an item
	working                  // on an item
	looking                  // waits for an item
	completing               // its work has ended, and the Job not yet
	terminating              // is deleted, and its pod not gone yet
	phases
)

func (p phase) pending() bool   { return p <= backingOff }
func (p phase) holdsRoom() bool { return p != unscheduled && p != backingOff && p != completing }

// A job may be used again for another Job after its end.
type job struct {
	number   int64
	since    Duration // pending since
	taken    int64    // items that it has done or works on
	failures int64
	replaces jobs.Source
	item     *item // that it works on
	epoch    int32 // changes with the phase
	cluster  int
	place    int // in the list of Jobs
	phase    phase
	fails    bool // the work on this item
	started  bool // a pod of it has
	hadItem  bool
}

// A jobRef is a Job for as long as its epoch is that.
type jobRef struct {
	job   *job
	epoch int32
}

// phaseCounts has the Jobs in each phase.
type phaseCounts struct{ phase [phases]int64 }

func (p *phaseCounts) pending() int64 {
	return p.phase[unscheduled] + p.phase[starting] + p.phase[backingOff]
}
func (p *phaseCounts) running() int64 {
	return p.pending() + p.phase[warming] + p.phase[working] + p.phase[looking] + p.phase[completing]
}
func (p *phaseCounts) idlePods() int64 {
	return p.phase[starting] + p.phase[warming] + p.phase[looking] + p.phase[terminating]
}

// schedule lets a Job proceed after a time, unless it enters another phase before.
func (r *run) schedule(j *job, after Duration, d duty) {
	r.agenda.add(entry{at: r.now + after, job: j, epoch: j.epoch}, d)
}

// proceed is what a Job does at the time that it has waited for.
func (r *run) proceed(d duty, j *job) {
	switch d {
	case dutyWorkEnds:
		r.endWork(j)
	case dutyGone:
		r.remove(j)
	case dutyFinished:
		r.finish(j, true)
	case dutyRetry:
		r.enter(j, unscheduled)
		r.waitForRoom(j)
	case dutyStarted:
		j.started = true
		r.emit("started", nil, j)
		if delay := r.draws.warmUp.draw(); delay > 0 {
			r.enter(j, warming)
			r.schedule(j, delay, dutyReady)
			return
		}
		r.ask(j)
	case dutyReady:
		r.ask(j)
	case dutyGiveUp:
		r.succeed(j)
	}
}

func (r *run) create(cluster int, n int64, replaces jobs.Source) {
	c := &r.clusters[cluster]
	if c.silent > 0 || c.rejecting > 0 {
		if n > 0 && c.silent == 0 {
			c.rejected = true
			r.JobsRejected += n
			r.observe(Event{Kind: "rejected", Number: n, Cluster: cluster})
		}
		return
	}
	if n > maxJobs-int64(len(r.jobs)) {
		r.err = fmt.Errorf("after %s the policy creates %d Jobs beside %d: want at most %d at once", r.now, n, len(r.jobs), int64(maxJobs))
		return
	}
	for range n {
		j := r.newJob()
		r.JobsCreated++
		j.number, j.cluster, j.since, j.replaces, j.place = r.JobsCreated, cluster, r.now, replaces, len(r.jobs)
		r.jobs = append(r.jobs, j)
		c.phase[unscheduled]++
		r.emit("created", nil, j)
		r.waitForRoom(j)
	}
	r.PeakJobs = max(r.PeakJobs, int64(len(r.jobs)))
}

func (r *run) newJob() *job {
	last := len(r.freeJobs) - 1
	if last < 0 {
		return &job{}
	}
	j := r.freeJobs[last]
	r.freeJobs = r.freeJobs[:last]
	*j = job{epoch: j.epoch}
	return j
}

// waitForRoom starts the pod of a Job, or puts it at the end of the line.
func (r *run) waitForRoom(j *job) {
	if c := &r.clusters[j.cluster]; len(c.line) > 0 || !c.hasRoom() {
		c.line = append(c.line, jobRef{j, j.epoch})
		return
	}
	r.start(j)
}

func (r *run) start(j *job) {
	r.clusters[j.cluster].pods++
	r.enter(j, starting)
	r.emit("scheduled", nil, j)
	r.schedule(j, r.draws.startup.draw(), dutyStarted)
}

// enter moves a Job to a phase. What it was waiting for is void.
func (r *run) enter(j *job, next phase) {
	c := &r.clusters[j.cluster]
	if next.pending() && !j.phase.pending() {
		j.since = r.now
	} else if j.phase.pending() && !next.pending() {
		r.longestPending = max(r.longestPending, r.now-j.since)
	}
	c.phase[j.phase]--
	c.phase[next]++
	j.phase = next
	j.epoch++
}

func (j *JobBehavior) backoffLimit() int64 {
	if j.BackoffLimit == nil {
		return 6
	}
	return *j.BackoffLimit
}

// backoff is how long the replacement takes after so many failures.
func (j *JobBehavior) backoff(failures int64) Duration {
	delay := j.Backoff
	if delay == 0 {
		delay = 10 * second
	}
	const longestBackoff = 6 * 60 * second
	for ; failures > 1 && delay < longestBackoff; failures-- {
		delay *= 2
	}
	return min(delay, longestBackoff)
}

func (j *JobBehavior) itemsPerJob() int64 { return max(1, j.ItemsPerJob) }

func (r *run) full(j *job) bool { return !r.behavior.DrainQueue && j.taken >= r.behavior.itemsPerJob() }

func (r *run) ask(j *job) {
	switch {
	case r.full(j):
		r.succeed(j)
	case r.take(j):
	case r.behavior.Wait > 0:
		r.enter(j, looking)
		r.idle = append(r.idle, jobRef{j, j.epoch})
		r.schedule(j, r.behavior.Wait, dutyGiveUp)
	default:
		r.succeed(j)
	}
}

func (r *run) endWork(j *job) {
	if j.fails {
		r.failPod(j)
		r.offer()
		return
	}
	r.complete(j)
	r.ask(j)
}

func (r *run) failPod(j *job) {
	wasWorking := j.phase == working
	if wasWorking {
		r.abandon(j.item)
	}
	j.failures++
	if j.failures > r.behavior.backoffLimit() {
		r.finish(j, false)
		return
	}
	r.emit("retried", nil, j)
	r.vacate(j, backingOff)
	if wasWorking {
		j.taken-- // the next pod takes another in its place
	}
	r.schedule(j, r.behavior.backoff(j.failures), dutyRetry)
}

// succeed ends the work of a Job, and the Job after its completion.
func (r *run) succeed(j *job) {
	if delay := r.draws.completion.draw(); delay > 0 {
		r.emit("completing", nil, j)
		r.vacate(j, completing)
		r.schedule(j, delay, dutyFinished)
		return
	}
	r.finish(j, true)
}

func (r *run) finish(j *job, succeeded bool) {
	if succeeded {
		r.emit("succeeded", nil, j)
		if !j.hadItem {
			r.IdleJobs++
		}
	} else {
		r.emit("failed", nil, j)
	}
	r.keepFinished(j, succeeded)
	r.remove(j)
}

func (r *run) delete(j *job) {
	if j.phase == working {
		r.abandon(j.item)
	}
	r.emit("deleted", nil, j)
	if r.behavior.Termination == 0 || !j.phase.holdsRoom() {
		r.remove(j)
	} else {
		r.enter(j, terminating)
		r.schedule(j, r.behavior.Termination, dutyGone)
	}
	r.offer()
}

// remove ends a Job, and frees its room.
func (r *run) remove(j *job) {
	r.vacate(j, unscheduled)
	r.clusters[j.cluster].phase[unscheduled]--
	last := len(r.jobs) - 1
	r.jobs[j.place], r.jobs[last].place = r.jobs[last], j.place
	r.jobs = r.jobs[:last]
	r.freeJobs = append(r.freeJobs, j)
}

// vacate moves a Job to a phase that holds no room, and gives the room that it had to
// others.
func (r *run) vacate(j *job, next phase) {
	c, held := &r.clusters[j.cluster], j.phase.holdsRoom()
	r.enter(j, next)
	if held {
		c.pods--
		r.fill(c)
	}
}
