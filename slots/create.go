package slots

import (
	"math"
	"time"
)

// A failure is what is known about a number whose create had no effect. A suspect is a failed
// number that is not skipped: the reason may be elsewhere, such as an outage.
type failure struct {
	backoff
	refused bool  // the server named the object as the reason
	skipped bool  // a higher number was created right after it failed
	round   int64 // the poll in which its create failed last
	times   int   // it has failed in a row
	create  int64 // id of the first of these creates
}

// retryTime returns when a create that holds others up is tried again.
func (f *failure) retryTime() time.Time {
	wait := min(longPause, firstPause<<min(max(0, f.failures-1), 10))
	return f.until.Add(-max(0, wait-shortPause))
}

// needsSkip reports whether a number holds others up, so that it is to be skipped.
func (s *Set) needsSkip() bool {
	for _, f := range s.failed {
		if f.refused || f.skipped || s.failedPolls >= outagePolls {
			return true
		}
	}
	return false
}

// chooseCreates returns the next batch of creates: within the maximum and the demand.
func (s *Set) chooseCreates(now time.Time) []Request {
	p := &s.poll
	p.worked = false
	capacity := max(0, p.max) - s.Unfinished()
	n := min(int64(p.batch), int64(maxAttempts-p.rejected), p.remaining, capacity)
	if n <= 0 || len(s.gates(now)) > 0 {
		return nil
	}
	used := s.usedNumbers()
	retry := s.retryNumber(used, now)
	if retry > 0 && n == p.remaining { // the last batch
		n--
	} else {
		retry = 0
	}
	batch := s.createLowest(n, used, now)
	s.retried = s.retried && len(batch) == 0
	if retry > 0 {
		s.retried = true
		batch = append(batch, s.newCreate(retry))
	}
	return batch
}

func (s *Set) usedNumbers() map[int64]bool {
	used := make(map[int64]bool, len(s.objects)+len(s.creates))
	for _, o := range s.objects {
		used[o.number] = true
	}
	for number := range s.creates {
		used[number] = true
	}
	return used
}

func (s *Set) newCreate(number int64) Request {
	c := &create{id: s.next()}
	s.creates[number] = c
	return Request{Verb: Create, Number: number, id: c.id}
}

// createLowest returns creates on the lowest free numbers. If they may all fail, they are no more
// than can be remembered.
func (s *Set) createLowest(n int64, used map[int64]bool, now time.Time) (batch []Request) {
	for number := int64(1); int64(len(batch)) < n; number++ {
		f := s.failed[number]
		switch {
		case used[number]:
			continue
		case f == nil && len(s.failed)+len(batch) >= maxFailed:
			return batch
		case f == nil, s.repeats(f):
		case s.maySkip() && (f.skipped || s.poll.first != 0):
			continue
		case s.poll.first != 0, now.Before(f.retryTime()):
			return batch
		}
		q := s.newCreate(number)
		if s.poll.first == 0 {
			s.poll.first = q.id
		}
		batch = append(batch, q)
	}
	return batch
}

// repeats reports whether a create is tried again at once: it failed for the first time, beside
// others that succeeded.
func (s *Set) repeats(f *failure) bool {
	single := f.times == 1 && !f.refused && !f.skipped
	return single && s.poll.created && f.round == s.poll.round
}

// retryNumber returns the skipped number that is tried again: the one with the fewest failures,
// so that each has its turn. Another number is created before the next one is tried again. It returns 0 if there is none.
func (s *Set) retryNumber(used map[int64]bool, now time.Time) (number int64) {
	if s.retried || !s.maySkip() {
		return 0
	}
	fewest := math.MaxInt
	for candidate, f := range s.failed {
		if !f.skipped || used[candidate] || now.Before(f.until) {
			continue
		}
		if f.failures < fewest || (f.failures == fewest && candidate < number) {
			number, fewest = candidate, f.failures
		}
	}
	return number
}

// answerCreate takes over what is known about a create, from its answer or from a read.
func (s *Set) answerCreate(q Request, r Result, uid string, now time.Time) {
	c := s.creates[q.Number]
	if c == nil || c.id != q.id {
		return
	}
	c.uid, c.replied = uid, now
	switch r {
	case Unanswered:
		c.state = unanswered
	case Done:
		c.state = accepted
		delete(s.failed, q.Number)
	case Occupied:
		c.state = occupied
		delete(s.failed, q.Number)
	default:
		delete(s.creates, q.Number)
		if !s.poll.stopped || q.Verb == Read || r == Refused { // else the caller did not send it
			s.fail(q, r, now)
		}
	}
	if c.observed() {
		delete(s.creates, q.Number)
	}
}

// fail notes that a create had no effect. Only one with a reason of its own waits longer each time.
func (s *Set) fail(q Request, r Result, now time.Time) {
	f := s.failureOf(q.Number)
	f.refused = r == Refused
	if q.Verb == Create {
		f.round = q.round
	}
	if f.times++; f.times == 1 {
		f.create = q.id
	}
	f.skipped = f.skipped || (f.times > 1 && s.created > f.create)
	if f.refused || f.skipped {
		f.backoff = f.fail(firstPause, longPause, now)
	}
}

// failureOf returns the failure of a number, which it makes if there is none.
func (s *Set) failureOf(number int64) *failure {
	f := s.failed[number]
	if f == nil {
		f = &failure{}
		s.failed[number] = f
	}
	return f
}

// count takes over what the answer to a create says about the other numbers.
func (s *Set) count(q Request, r Result, now time.Time) {
	p := &s.poll
	worked := r == Done || r == Occupied
	if q.round != p.round {
		if !worked && r != Refused {
			s.pauseCreates(now)
		}
		return
	}
	if q.id == p.first {
		s.countLowest(worked)
	}
	if r == Occupied || r == Refused {
		p.rejected++
	}
	switch {
	case worked:
		s.countSuccess(r == Done)
	case r == Refused: // which says nothing about other numbers
	case p.worked, p.stopped, s.skipped(q.Number):
	default:
		p.failures++
		if p.failures > 1 || !s.probes(r) {
			s.pauseCreates(now)
		}
	}
}

// probes reports whether another number is tried in this poll after the lowest one failed: it failed in
// polls before, too, and may be skipped.
func (s *Set) probes(r Result) bool {
	lasting := s.failedPolls >= outagePolls && !s.poll.created
	return lasting && (r == Unanswered || s.maySkip())
}

func (s *Set) skipped(number int64) bool { return s.failed[number] != nil && s.failed[number].skipped }

// countLowest takes over whether the create on the lowest free number worked. If it did, other
// numbers are no longer suspect.
func (s *Set) countLowest(worked bool) {
	if !worked {
		s.failedPolls++
		return
	}
	s.failedPolls = 0
	for number, f := range s.failed {
		if !f.skipped {
			delete(s.failed, number)
		}
	}
}

// countSuccess takes over that a create worked: those without an answer in this poll have none by themselves.
func (s *Set) countSuccess(done bool) {
	p := &s.poll
	s.createPause, p.worked = backoff{}, true
	if done {
		p.remaining--
		s.created = s.next()
	}
	if p.created {
		return
	}
	p.created = true
	for number, c := range s.creates {
		if c.state == unanswered && c.id > p.round && len(s.failed) < maxFailed {
			s.failureOf(number).skipped = true
		}
	}
}

// pauseCreates lets all creates wait.
func (s *Set) pauseCreates(now time.Time) {
	limit := min(shortPause, max(firstPause, s.options.RequestLifetime))
	s.createPause = s.createPause.fail(firstPause, limit, now)
}
