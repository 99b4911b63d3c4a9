package adapter

import (
	"math"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/build"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// An Item is a piece of work for one Job, such as a CI job. Key is needed.
type Item struct {
	Key     string // identifies the item among the owner's items for ever; valid UTF-8
	Attempt int64  // raise it to run the item again, after its Job has finished; never lower it
	// Template replaces the prototype, and Patch is a strategic merge patch of the template,
	// as JSON. Neither changes the namespace, the owner, the ServiceAccount, and the labels
	// and annotations of this package. A Job that Options.Selector would not select is not created.
	// Their ttlSecondsAfterFinished has no effect: Target.History.Age is that of all items.
	Template *batchv1.JobTemplateSpec
	Patch    []byte
	Labels   map[string]string // of the Job and its pods
}

// A Source lists the items of an owner: all of them, as they are when it is called. The revision is
// that of the list, if there is one that grows, such as a time; else 0. A list with a lower one than
// another had is not taken. After an error there is no list.
type Source func() (items []Item, revision int64, err error)

// PlanItems asks the source, and decides one poll of a keyed owner: a Job for each item, in the order
// of the items, with at most the maximum unfinished. Without a list nothing is created, and
// no finished Job is deleted. Plan.Holds names the items that are skipped.
func (t *Tracker) PlanItems(owner types.UID, now time.Time, source Source) Plan {
	t.mu.Lock()
	var want slots.Want
	if o := t.owners[owner]; o != nil && o.target != nil {
		want = o.set.Ask()
	}
	t.mu.Unlock()
	items, revision, err := source()
	queue := scaling.Metric{Name: "items", Target: 1}
	if err != nil {
		items, want, queue.Value = nil, slots.Want{}, math.NaN()
	}
	want.Revision = revision
	for i := range items { // a long key takes time, without the tracker's lock
		key := ""
		if utf8.ValidString(items[i].Key) { // else the Job could not have it
			key = build.Key(items[i].Key)
		}
		want.Items = append(want.Items, slots.Slot{Key: key, Number: items[i].Attempt})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owners[owner]; o != nil && o.target != nil {
		want.Retries = o.target.Retries
		queue.Value += float64(o.set.Waiting(want) + int64(o.running()) + o.flying())
	}
	plan := t.plan(owner, []scaling.Metric{queue}, want, now)
	plan.items = items
	for i := range plan.Holds {
		if h := &plan.Holds[i]; err != nil && h.Rule == "noList" {
			h.Text = "the items could not be listed: " + request.Words(err)
		}
	}
	return plan
}
