package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// An Item is a piece of work for one Job, such as a CI job. Key is needed.
type Item struct {
	Key     string // identifies the item among the owner's items for ever
	Attempt int64  // raise it to run the item again, after its Job has finished; never lower it
	// Template replaces the prototype, and Patch is a strategic merge patch of the template,
	// as JSON. Neither changes the namespace, the owner, the ServiceAccount, and the labels
	// and annotations of this package.
	Template *batchv1.JobTemplateSpec
	Patch    []byte
	Labels   map[string]string // of the Job and its pods
}

// want returns what a list of items asks for.
func (o *owned) want(items []Item, list slots.Listing) slots.Want {
	w := slots.Want{List: list, Retries: o.target.Retries}
	for i := range items {
		w.Items = append(w.Items, slots.Slot{Key: brief(items[i].Key), Number: items[i].Attempt})
	}
	return w
}

// Listing marks the begin of a list of an owner's items. Call it right before the source is
// asked: what a source returned to an earlier request is not used.
func (t *Tracker) Listing(owner types.UID) slots.Listing {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owners[owner]; o != nil && o.set != nil {
		return o.set.Listing()
	}
	return slots.Listing{}
}

// PlanItems decides one poll of a keyed owner: a Job for each item, in the order of the items,
// with at most the maximum unfinished. The items must be a complete list that the source made
// after Listing. If the source could not be read, pass a zero Listing: nothing is then created,
// and no finished Job is deleted. Plan.Holds names the items that are skipped.
func (t *Tracker) PlanItems(owner types.UID, items []Item, list slots.Listing, now time.Time) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := scaling.Metric{Name: "items", Target: 1}
	if o := t.owners[owner]; o != nil && o.target != nil {
		queue.Value = float64(o.set.Waiting(o.want(items, list)) + int64(o.running()) + o.flying())
	}
	if list == (slots.Listing{}) {
		queue.Value = math.NaN()
	}
	return t.plan(owner, []scaling.Metric{queue}, items, list, now)
}

// job returns the Job in a slot.
func (from *origin) job(in hub.Place, slot slots.Slot) (*batchv1.Job, error) {
	if from.item == nil {
		return from.from.newJob(in, slot, from.labels), nil
	}
	target := *from.from
	account := target.prototype().Spec.Template.Spec.ServiceAccountName
	template, err := from.item.template(target.prototype())
	if err != nil {
		return nil, err
	}
	template.Spec.Template.Spec.ServiceAccountName, template.Spec.Template.Spec.DeprecatedServiceAccount = account, ""
	for _, labels := range []*map[string]string{&template.Labels, &template.Spec.Template.Labels} {
		if len(from.item.Labels) > 0 {
			merged := maps.Clone(*labels)
			if merged == nil {
				merged = map[string]string{}
			}
			maps.Copy(merged, from.item.Labels)
			*labels = merged
		}
	}
	job := target.finish(in, slot, template, from.labels)
	job.Annotations[AnnotationKey] = from.item.Key
	delete(job.Annotations, AnnotationAttempt)
	if slot.Number != 0 {
		job.Annotations[AnnotationAttempt] = strconv.FormatInt(slot.Number, 10)
	}
	return job, nil
}

// template returns the template of the item's Job.
func (i *Item) template(prototype *batchv1.JobTemplateSpec) (*batchv1.JobTemplateSpec, error) {
	if i.Template != nil {
		prototype = i.Template.DeepCopy()
		prototype.ObjectMeta = metav1.ObjectMeta{Labels: prototype.Labels, Annotations: prototype.Annotations}
	}
	if len(i.Patch) == 0 {
		return prototype, nil
	}
	data, err := json.Marshal(prototype)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(data, i.Patch, batchv1.JobTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("item %q: Patch: %w", i.Key, err)
	}
	is := &batchv1.JobTemplateSpec{}
	if err := json.Unmarshal(patched, is); err != nil {
		return nil, fmt.Errorf("item %q: Patch: %w", i.Key, err)
	}
	is.ObjectMeta = metav1.ObjectMeta{Labels: is.Labels, Annotations: is.Annotations}
	return is, nil
}
