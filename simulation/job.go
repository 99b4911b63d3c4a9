package simulation

import (
	"fmt"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// phase is where a Job is.
type phase uint8

const (
	unscheduled phase = iota // pending: its pod has no room
	starting                 // pending: its pod has room, and starts
	backingOff               // pending: its pod failed, and is not replaced yet
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
	site     int32
	item     int32 // slot of the one that it works on
	place    int32 // in the list of live Jobs
	phase    phase
	fails    bool // the work on this item
	started  bool // a pod of it has
	fed      bool // it has had an item
}

// create creates Jobs in a cluster.
func (w *world) create(site int32, n int64, replaces jobs.Source) {
	if s := &w.sites[site]; s.silent > 0 || s.rejecting > 0 {
		w.reject(site, n)
		return
	}
	if n > peakJobs-int64(len(w.live)) {
		w.err = fmt.Errorf("after %s the policy creates %d Jobs beside %d: want at most %d at once", w.now, n, len(w.live), int64(peakJobs))
		return
	}
	for range n {
		slot := w.newJob()
		j := &w.jobs[slot]
		w.created++
		j.number, j.site, j.since, j.replaces = w.created, site, w.now, replaces
		j.place, j.phase = int32(len(w.live)), unscheduled
		w.live = append(w.live, slot)
		s := &w.sites[site]
		s.phase[unscheduled]++
		s.created++
		s.most = max(s.most, s.unfinished())
		w.tell("created", nil, slot)
		w.queueUp(slot)
	}
	w.most = max(w.most, int64(len(w.live)))
}

// reject is that the API server of a cluster does not create Jobs.
func (w *world) reject(site int32, n int64) {
	if s := &w.sites[site]; n > 0 && s.silent == 0 {
		s.rejected = true
		w.rejected += n
		w.observe(Event{Kind: "rejected", Number: n, Cluster: int(site)})
	}
}

func (w *world) newJob() (slot int32) {
	if n := len(w.freeJob); n > 0 {
		slot, w.freeJob = w.freeJob[n-1], w.freeJob[:n-1]
		w.jobs[slot] = job{epoch: w.jobs[slot].epoch}
		return slot
	}
	w.jobs = append(w.jobs, job{})
	return int32(len(w.jobs) - 1)
}

// enter moves a Job to a phase. What it was waiting for is no longer.
func (w *world) enter(slot int32, to phase) {
	j := &w.jobs[slot]
	s := &w.sites[j.site]
	switch was, is := j.phase.pending(), to.pending(); {
	case is && !was:
		j.since = w.now
	case was && !is:
		w.longestPending = max(w.longestPending, w.now-j.since)
	}
	w.ending(j, -1)
	s.phase[j.phase]--
	s.phase[to]++
	j.phase = to
	j.epoch++
	w.ending(j, 1)
}

// ending counts the Jobs that work on the last item that they will take.
func (w *world) ending(j *job, n int64) {
	if j.phase == working && !w.Jobs.DrainQueue && j.taken >= w.Jobs.itemsPerJob() {
		w.lastItem += n
	}
}

func (j *JobBehavior) itemsPerJob() int64 { return max(1, j.ItemsPerJob) }

// look is that a Job asks for an item.
func (w *world) look(slot int32) {
	j := &w.jobs[slot]
	switch {
	case !w.Jobs.DrainQueue && j.taken >= w.Jobs.itemsPerJob():
		w.succeed(slot)
	case w.take(slot):
	case w.Jobs.Wait > 0:
		w.enter(slot, looking)
		w.idle.pushBack(ref{slot, j.epoch})
		w.agenda.add(w.now+w.Jobs.Wait, dutyGiveUp, slot, j.epoch)
	default:
		w.succeed(slot)
	}
}

// endWork is that a Job has done its item, or fails.
func (w *world) endWork(slot int32) {
	j := &w.jobs[slot]
	if j.fails {
		w.failPod(slot)
		w.offer()
		return
	}
	w.complete(j.item, slot)
	w.look(slot)
}

// failPod is that the pod of a Job fails.
func (w *world) failPod(slot int32) {
	j := &w.jobs[slot]
	worked := j.phase == working
	if worked {
		w.drop(j.item)
	}
	j.failures++
	if j.failures > w.Jobs.backoffLimit() {
		w.finish(slot, false)
		return
	}
	w.tell("retried", nil, slot)
	w.vacate(slot, backingOff)
	if worked {
		j.taken-- // the next pod takes another in its place
	}
	w.agenda.add(w.now+w.Jobs.backoff(j.failures), dutyRetry, slot, j.epoch)
}

// succeed ends the work of a Job, and the Job after its completion.
func (w *world) succeed(slot int32) {
	if after := w.completion.draw(); after > 0 {
		w.tell("completing", nil, slot)
		w.vacate(slot, completing)
		w.agenda.add(w.now+after, dutyFinished, slot, w.jobs[slot].epoch)
		return
	}
	w.finish(slot, true)
}

// finish ends a Job.
func (w *world) finish(slot int32, succeeded bool) {
	j := &w.jobs[slot]
	kind, count := "succeeded", &w.jobsSucceeded
	if !succeeded {
		kind, count = "failed", &w.jobsFailed
	} else if !j.fed {
		w.idleJobs++
	}
	*count++
	w.tell(kind, nil, slot)
	w.finished++
	w.mostFinished = max(w.mostFinished, w.finished)
	w.noted(j, succeeded)
	w.remove(slot)
}

// delete deletes a Job that has not ended.
func (w *world) delete(slot int32) {
	j := &w.jobs[slot]
	if j.phase == working {
		w.drop(j.item)
	}
	w.jobsDeleted++
	w.tell("deleted", nil, slot)
	if w.Jobs.Termination == 0 || !j.phase.holdsRoom() {
		w.remove(slot)
	} else {
		w.enter(slot, terminating)
		w.agenda.add(w.now+w.Jobs.Termination, dutyGone, slot, j.epoch)
	}
	w.offer()
}

// remove frees the slot of a Job, and its room.
func (w *world) remove(slot int32) {
	w.vacate(slot, unscheduled)
	j := &w.jobs[slot]
	w.sites[j.site].phase[unscheduled]--
	last := w.live[len(w.live)-1]
	w.live[j.place] = last
	w.jobs[last].place = j.place
	w.live = w.live[:len(w.live)-1]
	w.freeJob = append(w.freeJob, slot)
}

// vacate moves a Job to a phase that holds no room, and gives the room that it had to
// others.
func (w *world) vacate(slot int32, to phase) {
	j := &w.jobs[slot]
	held := j.phase.holdsRoom()
	w.enter(slot, to)
	if held {
		w.sites[j.site].pods--
		w.fill(j.site)
	}
}
