package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// Clusters holds the registered members. The zero value has none. Clusters may be used
// from several goroutines, but the plans of an owner must be applied in sequence.
type Clusters struct {
	// Taints are how long members are tainted for all owners after health checks, lists and
	// watches that failed; nil means taint.DefaultDurations. It must not be modified after the first Add.
	Taints *taint.Durations

	// Patience is how long Apply waits for slow members; 0 means until all are done. It must
	// not be modified after the first Add.
	Patience time.Duration

	jury    jury
	mu      sync.Mutex
	members map[string]registered
	removed map[string]*sync.WaitGroup // plans that may not have finished, by name
	owners  map[types.UID]*owner
	applied map[types.UID][]*applied // plans that are not over, by owner
	late    map[ownerOn]time.Time    // until when an unanswered create may arrive
}

// An ownerOn is an owner on the member of that name.
type ownerOn struct {
	owner  types.UID
	member string
}

type registered struct {
	*Cluster
	stop context.CancelFunc
	busy *sync.WaitGroup // plans, and the wait for the plans of the replaced member
}

// done ends a plan as soon as none of its creates can arrive any more.
func (r *registered) done(err error) {
	if err == nil {
		r.busy.Done()
		return
	}
	time.AfterFunc(2*r.options.Timeout, r.busy.Done)
}

// mayArrive notes that a create of the owner on the member may arrive within that time.
func (all *Clusters) mayArrive(o ownerOn, within time.Duration) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.late == nil {
		all.late = map[ownerOn]time.Time{}
	}
	all.late[o] = time.Now().Add(within)
}

// arrives returns the time until which a create of the owner on the member may arrive,
// or the zero time.
func (all *Clusters) arrives(o ownerOn) time.Time {
	all.mu.Lock()
	defer all.mu.Unlock()
	until := all.late[o]
	if !time.Now().Before(until) {
		delete(all.late, o)
		return time.Time{}
	}
	return until
}

// Add registers a member, and runs it until it is removed or the context ends. After
// that it stays as it was last observed. The error has the problem of each owner that the
// member cannot track. The member is registered all the same, and Observe reports it as
// NeverReached for these owners.
//
// A member of the same name is replaced. The new member is observed after all plans for
// the replaced one have finished, and two Timeouts after one that failed, so that no Job
// is missed.
func (all *Clusters) Add(ctx context.Context, c *Cluster) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	var problems []error
	for _, uid := range slices.Sorted(maps.Keys(all.owners)) {
		problems = append(problems, c.track(all.owners[uid]))
	}
	all.remove(c.name)
	before := all.removed[c.name]
	if all.members == nil {
		all.members = map[string]registered{}
	}
	all.admit(c)
	ctx, stop := context.WithCancel(ctx)
	r := registered{c, stop, &sync.WaitGroup{}}
	all.members[c.name] = r
	r.busy.Add(1)
	go func() {
		if before != nil {
			before.Wait()
		}
		r.busy.Done()
		c.Run(ctx)
	}()
	return errors.Join(problems...)
}

// admit lets the health of the member be judged.
func (all *Clusters) admit(c *Cluster) {
	all.jury.mu.Lock()
	all.jury.fleet.Durations, all.jury.fleet.MinInterval = taint.DefaultDurations(), c.options.Interval/2
	if all.Taints != nil {
		all.jury.fleet.Durations = *all.Taints
	}
	all.jury.mu.Unlock()
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	c.health.jury = &all.jury
}

// Remove removes the member of that name, if any. Plans that are being applied
// there go on.
func (all *Clusters) Remove(name string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(name)
}

func (all *Clusters) remove(name string) {
	r, ok := all.members[name]
	if !ok {
		return
	}
	r.stop()
	r.health.mu.Lock()
	r.health.jury = nil
	r.health.mu.Unlock()
	all.jury.mu.Lock()
	all.jury.fleet.Remove(name)
	maps.DeleteFunc(all.jury.owners, func(_ string, c *Cluster) bool { return c == r.Cluster })
	all.jury.mu.Unlock()
	delete(all.members, name)
	if all.removed == nil {
		all.removed = map[string]*sync.WaitGroup{}
	}
	all.removed[name] = r.busy
}

// Names returns the names of the members, in order.
func (all *Clusters) Names() []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Sorted(maps.Keys(all.members))
}

// begin returns the registered members among the names, by name. Each is busy until its
// done is called. It is an error if the owner is not the current one.
func (all *Clusters) begin(names []string, o *owner) (map[string]registered, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case o == nil:
		return nil, errNotKnown
	case all.owners[o.target.Owner.UID] != o:
		return nil, fmt.Errorf("%w: its owner was edited since the observation", adapter.ErrOutdated)
	}
	members := map[string]registered{}
	for _, name := range names {
		if r, ok := all.members[name]; ok {
			r.busy.Add(1)
			members[name] = r
		}
	}
	return members, nil
}

// list returns the members, by name.
func (all *Clusters) list() []*Cluster {
	all.mu.Lock()
	defer all.mu.Unlock()
	members := make([]*Cluster, 0, len(all.members))
	for _, name := range slices.Sorted(maps.Keys(all.members)) {
		members = append(members, all.members[name].Cluster)
	}
	return members
}

// Problems returns the errors of unreachable members, by name.
func (all *Clusters) Problems() map[string]error {
	problems := map[string]error{}
	for _, c := range all.list() {
		if err := c.health.problem(); err != nil {
			problems[c.name] = err
		}
	}
	return problems
}

// CutOff returns an error while no member answers, so that the hub may be cut off. The
// error says so if all of them answer 401: then the credentials of the hub have ended.
func (all *Clusters) CutOff() error {
	all.jury.mu.Lock()
	answers := all.jury.fleet.Answers()
	all.jury.mu.Unlock()
	problems := all.Problems()
	if answers || len(problems) == 0 {
		return nil
	}
	for _, err := range problems {
		if request.Code(err) != http.StatusUnauthorized {
			return fmt.Errorf("none of %d members answers, so that the hub may be cut off: no Job is replaced, moved or lost", len(problems))
		}
	}
	return fmt.Errorf("all %d members answer 401 (Unauthorized): the hub's tokens have expired or were revoked; run setup-member again", len(problems))
}

// Track starts to track the Jobs of an owner, which is in the hub cluster, on every
// member, and on members that are added later. Of the target the members use Owner, Job,
// Revision, PendingPodConditions and Rollout.Propagation: package jobs decides the rest. The
// Job and the overrides, by member, must not be modified afterwards. For an owner that is
// tracked, Track is an edit, unless these parts and the overrides are equal to those before.
//
// The error has every problem of the target, or the members that cannot track it,
// such as those without pods. Those keep the target of before, if they had one.
func (all *Clusters) Track(target adapter.Target, overrides map[string]Override) error {
	o, err := newOwner(target, overrides)
	if err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.owners == nil {
		all.owners = map[types.UID]*owner{}
	}
	if before := all.owners[target.Owner.UID]; reflect.DeepEqual(before, o) {
		o = before
	}
	all.owners[target.Owner.UID] = o
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(all.members)) {
		problems = append(problems, all.members[name].track(o))
	}
	return errors.Join(problems...)
}

// Untrack stops tracking the owner. Its Jobs stay: see [Clusters.DeleteJobs].
func (all *Clusters) Untrack(owner types.UID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.owners, owner)
	for _, r := range all.members {
		r.untrack(owner)
	}
}

// An Owned holds the number of Jobs on a member that this hub created for an owner, with
// finished ones.
type Owned struct {
	Owner     types.UID
	Namespace string // of the owner
	Jobs      int
}

// Owners returns the owners of the Jobs on each member that this hub created, by the name of
// the member, in no order, tracked or not. Jobs of an owner that does not exist any more are orphans.
func (all *Clusters) Owners() map[string][]Owned {
	owners := map[string][]Owned{}
	for _, c := range all.list() {
		sums := map[types.UID]Owned{}
		hub.Visit(c.tracker, func(owner types.UID, _ string, labels map[string]string) {
			sums[owner] = Owned{owner, labels[LabelOwnerNamespace], sums[owner].Jobs + 1}
		})
		if len(sums) > 0 {
			owners[c.name] = slices.Collect(maps.Values(sums))
		}
	}
	return owners
}

// together calls do for each of n members at once.
func together(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// errAway returns the error of a request to an unreachable member, which is not sent.
func (c *Cluster) errAway() error {
	if err := c.health.problem(); err != nil {
		return fmt.Errorf("member %s is unreachable: %w", c.name, err)
	}
	return fmt.Errorf("member %s has passed no health check since it was unreachable", c.name)
}

var errNotRegistered = errors.New("it is not registered")
