package requests

// Stats describe a queue at an instant.
type Stats struct {
	Slots     int
	InFlight  int // requests in flight, including requests of congested owners
	Congested int // requests in flight of congested owners
	Hanging   int // requests without an answer for Patience
	Waiting   int // requests that wait for a slot, or for Retry-After
	Held      int // slots without a request in flight, because the API server is overloaded
	Owners    int // congested owners
	// Widespread reports whether the whole process sends less, because owners of many
	// namespaces are congested.
	Widespread bool
}

// Stats returns the present state.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{
		Slots:     q.slots,
		InFlight:  q.lanes[healthy].inFlight + q.lanes[congested].inFlight - q.resting,
		Congested: q.lanes[congested].inFlight,
		Hanging:   q.hanging,
		Waiting:   q.lanes[healthy].waiting + q.lanes[congested].waiting,
		Held:      q.held + q.resting,
		Owners:    q.lanes[congested].owners,

		Widespread: q.widespread(),
	}
}

// Congested returns the congested owners, in no order.
func (q *Queue) Congested() (owners []Owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sweep()
	for name, o := range q.owners {
		if o.lane == congested {
			owners = append(owners, name)
		}
	}
	return owners
}

// IsCongested reports whether an owner is congested.
func (q *Queue) IsCongested(name Owner) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.owners[name]
	return o != nil && o.lane == congested && !o.old()
}
