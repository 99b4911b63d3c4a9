package adapter

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A flight is a create that the Jobs do not show yet.
type flight struct {
	generation int64 // that its name is made of
	expires    time.Time
	// unanswered says that nobody knows whether the Job exists. The next create
	// is then of the same name, which finds out; so it need not hold room, unless
	// the name would be another by now.
	unanswered bool

	held   bool      // it is of an order: it does not expire
	job    *Job      // of a held one
	landed bool      // the API server has told of that Job
	asked  time.Time // when it was sent, or last asked for by its name
}

// of is the flight of a Job to create.
func (f flight) of(job *batchv1.Job) flight {
	if f.held {
		j := Observation{}.classify(job, 0)
		j.Created, j.Since = f.asked, f.asked
		f.job = &j
	}
	return f
}

// land notes the Job as it is on the API server.
func (f *flight) land(job *batchv1.Job) {
	if f.held {
		j := Observation{}.classify(job, 0)
		f.job, f.landed, f.unanswered = &j, true, false
	}
}

// again reports whether the next create is of the same name.
func (f flight) again() bool { return f.unanswered && !f.held }

// holding counts the creates that hold room at the time, and forgets those that
// have expired.
func (f *Fleet) holding(now time.Time, generation int64) (n int64) {
	for number, flight := range f.flights {
		switch {
		case !flight.held && !now.Before(flight.expires):
			delete(f.flights, number)
		case !flight.again() || flight.generation != generation:
			n++
		}
	}
	return n
}

// sending notes a create before it is sent.
func (f *Fleet) sending(number int64, to flight) {
	if _, seen := f.numbers.created(number); seen { // by another writer's, meanwhile
		return
	}
	if f.flights == nil {
		f.flights = map[int64]flight{}
	}
	f.flights[number] = to
}

// answered notes what became of a create.
func (f *Fleet) answered(number int64, job *batchv1.Job, err error) {
	flight, ok := f.flights[number]
	switch {
	case errors.Is(err, errTaken): // so that the next create is of another
		f.numbers.see(number, time.Time{})
		delete(f.flights, number)
	case !ok:
	case err == nil:
		flight.land(job)
		f.flights[number] = flight
	case refused(err):
		delete(f.flights, number)
	default:
		flight.unanswered = true
		f.flights[number] = flight
	}
}

// refused reports whether it is sure that nothing was created.
func refused(err error) bool {
	var status apierrors.APIStatus
	var network *net.OpError
	switch {
	case errors.Is(err, errUnclear): // whatever kept it from becoming clear
		return false
	case errors.Is(err, ErrNotSent), errors.As(err, &network) && network.Op == "dial":
		return true
	case !errors.As(err, &status):
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// free returns the numbers to create Jobs with: gaps first, then next and all
// after it.
//
// Numbers go on from the highest. But Jobs are created in batches, so that a gap
// below a Job that is new may be of a create that was not answered, or is under way
// from somebody else. Taking such gaps first, lowest first, makes two writers choose
// the same names whatever part of a batch each has seen, and a writer that was
// restarted the same as before; the API server keeps one Job of each name.
func (f *Fleet) free(now time.Time) (gaps []int64, next int64) {
	last := f.numbers.last
	for number, flight := range f.flights {
		if !flight.again() {
			last = max(last, number)
		}
	}
	new := false // the closest number above
	for n := last; n > max(0, f.numbers.last-window); n-- {
		created, seen := f.numbers.created(n)
		flight, flies := f.flights[n]
		switch {
		case seen:
			new = created.After(now.Add(-flightTime))
		case flies && !flight.again():
			new = true
		case flies || new:
			gaps = append(gaps, n)
		}
	}
	slices.Reverse(gaps)
	return gaps, last + 1
}

// window is how many of the latest numbers are remembered one by one: no batch
// is larger.
const window = maxBatch

// numbers remembers the highest number seen, and which of the window up to it
// were, with the times at which their Jobs were created. The zero value has seen none.
type numbers struct {
	last int64
	ring [window]struct {
		number  int64
		created time.Time
	}
}

func (n *numbers) see(number int64, created time.Time) {
	if number <= max(0, n.last-window) {
		return
	}
	n.last = max(n.last, number)
	slot := &n.ring[number%window]
	slot.number, slot.created = number, created
}

// created returns the time of a number that was seen. It knows of no others than
// those in the window.
func (n *numbers) created(number int64) (t time.Time, seen bool) {
	slot := &n.ring[number%window]
	return slot.created, slot.number == number
}
