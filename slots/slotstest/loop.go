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
	// Replace and Show pass an observation on, as to [slots.Set].
	Replace(objects []slots.Object, began time.Time)
	Show(slots.Object)
	// Edit sets the maximum of an edited owner.
	Edit(most int64)
	// Ask begins a list of the source's items. The next Poll has its answer.
	Ask()
	// Poll begins a poll. Answer passes a reply on. Both return the requests to send then.
	Poll(Poll, time.Time) []slots.Request
	Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request
	// Settled reports whether the lease's mark would say that the term ended in order.
	Settled(now time.Time) bool
	// Clone returns a copy that shares nothing. Fingerprint returns everything that the
	// loop's future depends on.
	Clone() Loop
	Fingerprint(time.Time) string
}

// A Poll is the report of a source: the objects that it asks for, or its items.
type Poll struct {
	Demand  int64
	Items   []slots.Slot
	Retries int64
}

// A Plain is the shortest loop over a [slots.Set]: it creates what is missing, and prunes
// each finished object.
type Plain struct {
	*slots.Set
	Max   int64
	Asked slots.Want // when the source was asked
	Keyed bool
	shown map[string]slots.Object
}

// NewPlain returns a Plain.
func NewPlain(o slots.Options, most int64) Loop {
	return &Plain{Set: slots.New(o), Max: most, Keyed: o.Keyed, shown: map[string]slots.Object{}}
}

// Replace takes over a list.
func (p *Plain) Replace(objects []slots.Object, began time.Time) {
	clear(p.shown)
	for _, o := range objects {
		p.shown[o.UID] = o
	}
	p.Set.Replace(objects, began)
}

// Show takes over a change.
func (p *Plain) Show(o slots.Object) {
	if p.shown[o.UID] = o; o.Gone {
		delete(p.shown, o.UID)
	}
	p.Set.Show(o)
}

// Edit drops the poll under way.
func (p *Plain) Edit(most int64) { p.Max = most; p.Stop() }

// Ask notes the begin of a list.
func (p *Plain) Ask() { p.Asked = p.Set.Ask() }

// Poll asks for what is missing.
func (p *Plain) Poll(poll Poll, now time.Time) []slots.Request {
	p.Want(p.Wanted(poll), now)
	return p.Next(now)
}

// Wanted returns what a poll asks for.
func (p *Plain) Wanted(poll Poll) slots.Want {
	w := slots.Want{Create: max(0, poll.Demand-p.Unfinished())}
	if p.Keyed {
		w = p.Asked
		w.Create, w.Items, w.Retries = p.Max, poll.Items, poll.Retries
	}
	w.Max = p.Max
	for _, o := range p.shown {
		if o.Finished && !o.Deleting {
			w.Delete = append(w.Delete, o.UID)
		}
	}
	slices.Sort(w.Delete)
	return w
}

// Answer goes on with the poll.
func (p *Plain) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	p.Set.Answer(q, r, uid, now)
	return p.Next(now)
}

// Clone returns a copy.
func (p *Plain) Clone() Loop {
	c := *p
	c.Set, c.shown = p.Set.Clone(), maps.Clone(p.shown)
	return &c
}
