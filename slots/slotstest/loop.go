package slotstest

import (
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

// A Loop is a controller's loop about an owner, as the model drives it. An author
// implements it with the code that his controller runs.
type Loop interface {
	// Replace, Show and Gone pass an observation on, as to [slots.Set].
	Replace(objects []slots.Object, began time.Time)
	Show(slots.Object)
	Gone(uid string)
	// Edit makes the maximum that of an edited owner.
	Edit(most int64)
	// Ask begins a list of the source's items. The next Poll has its answer.
	Ask()
	// Poll begins a poll. Answer passes a reply on. Both return the requests to send then.
	Poll(Poll, time.Time) []slots.Request
	Answer(slots.Request, slots.Reply, time.Time) []slots.Request
	// Settled reports whether the lease's mark would say that the term ended in order.
	Settled() bool
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
	List  slots.Listing
	Keyed bool
}

// NewPlain returns a Plain.
func NewPlain(o slots.Options, most int64) Loop {
	return &Plain{Set: slots.New(o), Max: most, Keyed: o.Keyed}
}

// Edit drops the poll under way.
func (p *Plain) Edit(most int64) { p.Max = most; p.Stop() }

// Ask notes the begin of a list.
func (p *Plain) Ask() { p.List = p.Listing() }

// Poll asks for what is missing.
func (p *Plain) Poll(poll Poll, now time.Time) []slots.Request {
	p.Want(p.Wanted(poll), now)
	return p.Next(now)
}

// Wanted returns what a poll asks for.
func (p *Plain) Wanted(poll Poll) slots.Want {
	w := slots.Want{Max: p.Max, Create: max(0, poll.Demand-p.Unfinished()-p.Hidden())}
	if p.Keyed {
		w.Create, w.Items, w.List, w.Retries = p.Max, poll.Items, p.List, poll.Retries
	}
	for o := range p.Objects {
		if o.Finished && !o.Deleting {
			w.Delete = append(w.Delete, o.UID)
		}
	}
	slices.Sort(w.Delete)
	return w
}

// Answer goes on with the poll.
func (p *Plain) Answer(q slots.Request, r slots.Reply, now time.Time) []slots.Request {
	p.Set.Answer(q, r, now)
	return p.Next(now)
}

// Clone returns a copy.
func (p *Plain) Clone() Loop {
	c := *p
	c.Set = p.Set.Clone()
	return &c
}
