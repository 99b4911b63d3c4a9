package slotstest

import (
	"maps"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

// A Loop is a controller's loop about an owner, as the model drives it. An author
// implements it with the code that his controller runs.
type Loop interface {
	// Replace and Observe pass an observation on, as to [slots.Set].
	Replace(objects []slots.Object, readStart time.Time)
	Observe(slots.Object)
	// Edit sets the maximum of an edited owner.
	Edit(maximum int64)
	// Poll begins a poll that asks for a total of objects. Answer passes a reply on. Both
	// return the requests to send then.
	Poll(total int64, now time.Time) []slots.Request
	Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request
	// Settled reports whether the lease's mark would go if the term ended in order.
	Settled(now time.Time) bool
	// Clone returns a copy that shares nothing. Fingerprint returns everything that the
	// loop's future depends on.
	Clone() Loop
	Fingerprint(time.Time) string
}

// A Plain is the shortest loop over a [slots.Set]: it creates what is missing, and prunes
// each finished object.
type Plain struct {
	*slots.Set
	Max     int64
	objects map[string]slots.Object
}

// NewPlain returns a Plain.
func NewPlain(o slots.Options, maximum int64) Loop {
	return &Plain{Set: slots.New(o), Max: maximum, objects: map[string]slots.Object{}}
}

// Replace takes over a list.
func (p *Plain) Replace(objects []slots.Object, readStart time.Time) {
	clear(p.objects)
	for _, o := range objects {
		p.objects[o.UID] = o
	}
	p.Set.Replace(objects, readStart)
}

// Observe takes over a change.
func (p *Plain) Observe(o slots.Object) {
	if p.objects[o.UID] = o; o.Gone {
		delete(p.objects, o.UID)
	}
	p.Set.Observe(o)
}

// Edit drops the poll under way.
func (p *Plain) Edit(maximum int64) { p.Max = maximum; p.Stop() }

// Poll asks for what is missing.
func (p *Plain) Poll(total int64, now time.Time) []slots.Request {
	p.Begin(p.Demand(total), now)
	return p.Next(now)
}

// Demand returns what a poll asks for.
func (p *Plain) Demand(total int64) slots.Demand {
	d := slots.Demand{Create: max(0, total-p.Unfinished()), Max: p.Max}
	for _, o := range p.objects {
		if o.Finished && !o.Deleting {
			d.Delete = append(d.Delete, o.UID)
		}
	}
	slices.Sort(d.Delete)
	return d
}

// Answer goes on with the poll.
func (p *Plain) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	p.Set.Answer(q, r, uid, now)
	return p.Next(now)
}

// Clone returns a copy.
func (p *Plain) Clone() Loop {
	c := *p
	c.Set, c.objects = p.Set.Clone(), maps.Clone(p.objects)
	return &c
}
