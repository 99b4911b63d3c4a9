package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// phase is where a Job is.
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

// A job has a slot from its creation to its end.
type job struct {
	number   int64
	since    Duration // pending since
	taken    int64    // items that it has done or works on
	failures int64
	replaces jobs.Source
	epoch    uint32 // changes with the phase
	cluster  int32
	item     int32 // slot of the one that it works on
	place    int32 // in the list of live Jobs
	phase    phase
	fails    bool // the work on this item
	started  bool // a pod of it has
	hadItem  bool
}

// A jobRef is a Job for as long as its epoch is that.
type jobRef struct {
	slot  int32
	epoch uint32
}

// A clusterState is a cluster in a run.
type clusterState struct {
	phaseCounts
	capacity int64 // -1 is no limit
	pods     int64 // that hold room
	line     deque[jobRef]
	outages  []Outage
	delay    Duration // age of the list of Jobs
	// outages in which it does not answer, in which no pod starts, and in which it
	// rejects creates
	silent, stopped, rejecting int

	current  jobList
	views    deque[jobList] // of later polls
	finished []jobs.Job     // that are not deleted, for an autoscaler that reads them
	rejected bool           // a create, since the last poll
	created  int64
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

// total adds up the numbers of the clusters.
func (r *run) total(count func(*clusterState) int64) (n int64) {
	for i := range r.clusters {
		n += count(&r.clusters[i])
	}
	return n
}

// proceed is what a Job does at the time that it has waited for.
func (r *run) proceed(d duty, slot int32) {
	switch d {
	case dutyWorkEnds:
		r.endWork(slot)
	case dutyGone:
		r.remove(slot)
	case dutyFinished:
		r.finish(slot, true)
	case dutyRetry:
		r.enter(slot, unscheduled)
		r.waitForRoom(slot)
	case dutyStarted:
		r.jobs[slot].started = true
		r.emit("started", nil, slot)
		if delay := r.warmUp.draw(); delay > 0 {
			r.enter(slot, warming)
			r.agenda.add(r.now+delay, dutyReady, slot, r.jobs[slot].epoch)
			return
		}
		r.ask(slot)
	case dutyReady:
		r.ask(slot)
	case dutyGiveUp:
		r.succeed(slot)
	}
}

// create creates Jobs in a cluster.
func (r *run) create(cluster int32, n int64, replaces jobs.Source) {
	c := &r.clusters[cluster]
	if c.silent > 0 || c.rejecting > 0 {
		if n > 0 && c.silent == 0 {
			c.rejected = true
			r.rejected += n
			r.observe(Event{Kind: "rejected", Number: n, Cluster: int(cluster)})
		}
		return
	}
	if n > maxJobs-int64(len(r.live)) {
		r.err = fmt.Errorf("after %s the policy creates %d Jobs beside %d: want at most %d at once", r.now, n, len(r.live), int64(maxJobs))
		return
	}
	for range n {
		slot := r.newJob()
		j := &r.jobs[slot]
		r.created++
		j.number, j.cluster, j.since, j.replaces = r.created, cluster, r.now, replaces
		j.place, j.phase = int32(len(r.live)), unscheduled
		r.live = append(r.live, slot)
		c.phase[unscheduled]++
		c.created++
		r.emit("created", nil, slot)
		r.waitForRoom(slot)
	}
	r.peakJobs = max(r.peakJobs, int64(len(r.live)))
}

func (r *run) newJob() (slot int32) {
	if n := len(r.freeJobs); n > 0 {
		slot, r.freeJobs = r.freeJobs[n-1], r.freeJobs[:n-1]
		r.jobs[slot] = job{epoch: r.jobs[slot].epoch}
		return slot
	}
	r.jobs = append(r.jobs, job{})
	return int32(len(r.jobs) - 1)
}

// waitForRoom puts a Job without room at the end of the line.
func (r *run) waitForRoom(slot int32) {
	j := &r.jobs[slot]
	r.clusters[j.cluster].line.pushBack(jobRef{slot, j.epoch})
	r.fill(j.cluster)
}

// fill starts the pods that there is room for.
func (r *run) fill(cluster int32) {
	c := &r.clusters[cluster]
	hasRoom := func() bool { return c.capacity < 0 || c.pods < c.capacity }
	for c.line.n > 0 && c.stopped == 0 && hasRoom() {
		ref := c.line.popFront()
		if r.jobs[ref.slot].epoch != ref.epoch {
			continue
		}
		c.pods++
		r.enter(ref.slot, starting)
		r.emit("scheduled", nil, ref.slot)
		r.agenda.add(r.now+r.startup.draw(), dutyStarted, ref.slot, r.jobs[ref.slot].epoch)
	}
}

// enter moves a Job to a phase. What it was waiting for is void.
func (r *run) enter(slot int32, next phase) {
	j := &r.jobs[slot]
	c := &r.clusters[j.cluster]
	if next.pending() && !j.phase.pending() {
		j.since = r.now
	} else if j.phase.pending() && !next.pending() {
		r.longestPending = max(r.longestPending, r.now-j.since)
	}
	r.countEnding(j, -1)
	c.phase[j.phase]--
	c.phase[next]++
	j.phase = next
	j.epoch++
	r.countEnding(j, 1)
}

// countEnding counts the Jobs that work on the last item that they will take.
func (r *run) countEnding(j *job, n int64) {
	if j.phase == working && r.full(j) {
		r.ending += n
	}
}

// full reports whether a Job takes no further item.
func (r *run) full(j *job) bool { return !r.Jobs.DrainQueue && j.taken >= r.Jobs.itemsPerJob() }

// ask lets a Job ask for an item.
func (r *run) ask(slot int32) {
	j := &r.jobs[slot]
	switch {
	case r.full(j):
		r.succeed(slot)
	case r.take(slot):
	case r.Jobs.Wait > 0:
		r.enter(slot, looking)
		r.idle.pushBack(jobRef{slot, j.epoch})
		r.agenda.add(r.now+r.Jobs.Wait, dutyGiveUp, slot, j.epoch)
	default:
		r.succeed(slot)
	}
}

// endWork ends the work of a Job on its item, or its pod fails.
func (r *run) endWork(slot int32) {
	j := &r.jobs[slot]
	if j.fails {
		r.failPod(slot)
		r.offer()
		return
	}
	r.complete(j.item, slot)
	r.ask(slot)
}

// failPod lets the pod of a Job fail.
func (r *run) failPod(slot int32) {
	j := &r.jobs[slot]
	wasWorking := j.phase == working
	if wasWorking {
		r.abandon(j.item)
	}
	j.failures++
	if j.failures > r.Jobs.backoffLimit() {
		r.finish(slot, false)
		return
	}
	r.emit("retried", nil, slot)
	r.vacate(slot, backingOff)
	if wasWorking {
		j.taken-- // the next pod takes another in its place
	}
	r.agenda.add(r.now+r.Jobs.backoff(j.failures), dutyRetry, slot, j.epoch)
}

// succeed ends the work of a Job, and the Job after its completion.
func (r *run) succeed(slot int32) {
	if delay := r.completion.draw(); delay > 0 {
		r.emit("completing", nil, slot)
		r.vacate(slot, completing)
		r.agenda.add(r.now+delay, dutyFinished, slot, r.jobs[slot].epoch)
		return
	}
	r.finish(slot, true)
}

// finish ends a Job.
func (r *run) finish(slot int32, succeeded bool) {
	j := &r.jobs[slot]
	if succeeded {
		r.jobsSucceeded++
		r.emit("succeeded", nil, slot)
		if !j.hadItem {
			r.idleJobs++
		}
	} else {
		r.jobsFailed++
		r.emit("failed", nil, slot)
	}
	r.keepFinished(j, succeeded)
	r.remove(slot)
}

// delete deletes a Job that has not ended.
func (r *run) delete(slot int32) {
	j := &r.jobs[slot]
	if j.phase == working {
		r.abandon(j.item)
	}
	r.jobsDeleted++
	r.emit("deleted", nil, slot)
	if r.Jobs.Termination == 0 || !j.phase.holdsRoom() {
		r.remove(slot)
	} else {
		r.enter(slot, terminating)
		r.agenda.add(r.now+r.Jobs.Termination, dutyGone, slot, j.epoch)
	}
	r.offer()
}

// remove frees the slot of a Job, and its room.
func (r *run) remove(slot int32) {
	r.vacate(slot, unscheduled)
	j := &r.jobs[slot]
	r.clusters[j.cluster].phase[unscheduled]--
	last := r.live[len(r.live)-1]
	r.live[j.place] = last
	r.jobs[last].place = j.place
	r.live = r.live[:len(r.live)-1]
	r.freeJobs = append(r.freeJobs, slot)
}

// vacate moves a Job to a phase that holds no room, and gives the room that it had to
// others.
func (r *run) vacate(slot int32, next phase) {
	j := &r.jobs[slot]
	held := j.phase.holdsRoom()
	r.enter(slot, next)
	if held {
		r.clusters[j.cluster].pods--
		r.fill(j.cluster)
	}
}

// outage begins an outage, or ends it if its number is odd.
func (r *run) outage(cluster int32, number uint32) {
	c := &r.clusters[cluster]
	kind, begins, change := c.outages[number/2].Kind, number%2 == 0, 1
	e := Event{Kind: "outage started", Cluster: int(cluster)}
	if !begins {
		change, e.Kind = -1, "outage ended"
	}
	r.observe(e)
	stops := kind != unreachable && kind != rejects
	if kind == rejects {
		c.rejecting += change
	} else if kind != noStart {
		c.silent += change
	}
	if stops {
		c.stopped += change
	}
	if !begins {
		r.fill(cluster)
	} else if stops {
		r.stopPods(cluster, kind != noStart)
	}
}

// stopPods puts pods that are starting back into the line, and lets those that run fail,
// if they do.
func (r *run) stopPods(cluster int32, fail bool) {
	slots := slices.DeleteFunc(slices.Clone(r.live), func(slot int32) bool { return r.jobs[slot].cluster != cluster })
	slices.SortFunc(slots, func(a, b int32) int { return cmp.Compare(r.jobs[b].number, r.jobs[a].number) })
	for _, slot := range slots {
		j := &r.jobs[slot]
		runs := j.phase == warming || j.phase == working || j.phase == looking
		if j.phase == starting {
			r.vacate(slot, unscheduled)
			r.emit("unscheduled", nil, slot)
			r.clusters[cluster].line.pushFront(jobRef{slot, j.epoch})
		} else if fail && runs {
			r.failPod(slot)
		}
	}
	r.offer()
}
