package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
)

// Clusters are the members that are registered. The zero value has none. They may be
// used from several goroutines; two plans of one owner at once are the caller's to
// prevent.
type Clusters struct {
	mu      sync.Mutex
	members map[string]registered
	removed map[string]*sync.WaitGroup // what may be under way yet, by name
	owners  map[types.UID]adapter.Observation
	sources map[types.UID]map[string]string // Jobs that replacements name, by owner, then by UID
}

type registered struct {
	*Cluster
	stop context.CancelFunc
	busy *sync.WaitGroup // with plans, or waiting for the one before
}

// Add registers a member, and runs it until it is removed or the context ends, from
// when on it is as it was last seen. One of the same name is removed. What is under way on one of that name that was removed,
// now or before, comes to its end before the new one is looked at, so that no Job is
// missed. It is an error if an owner is followed by pods that the member does not
// watch; the member is not registered then.
func (all *Clusters) Add(ctx context.Context, c *Cluster) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, o := range all.owners {
		if err := c.follow(o); err != nil {
			return err
		}
	}
	all.remove(c.name)
	before := all.removed[c.name]
	if all.members == nil {
		all.members = map[string]registered{}
	}
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
	return nil
}

// Remove forgets the member of that name, if there is one. What is under way there
// goes on.
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
	delete(all.members, name)
	if all.removed == nil {
		all.removed = map[string]*sync.WaitGroup{}
	}
	all.removed[name] = r.busy
}

// Names are those of the members, in order.
func (all *Clusters) Names() []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Sorted(maps.Keys(all.members))
}

// begin returns those members of the names that are registered, by name, each busy
// until its busy.Done is called.
func (all *Clusters) begin(names []string) map[string]registered {
	all.mu.Lock()
	defer all.mu.Unlock()
	members := map[string]registered{}
	for _, name := range names {
		if r, ok := all.members[name]; ok {
			r.busy.Add(1)
			members[name] = r
		}
	}
	return members
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

// Problems are why members do not answer, by name, of those that do not.
func (all *Clusters) Problems() map[string]error {
	problems := map[string]error{}
	for _, c := range all.list() {
		if err := c.health.problem(); err != nil {
			problems[c.name] = err
		}
	}
	return problems
}

// Follow starts to observe the Jobs of o.Owner on every member, those that are yet
// to be added included, or from now on observes them as o says. The error tells the
// members that do not watch the pods that o wants.
func (all *Clusters) Follow(o adapter.Observation) error {
	if o.Owner == "" {
		return errors.New("follow: the owner has no UID")
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.owners == nil {
		all.owners, all.sources = map[types.UID]adapter.Observation{}, map[types.UID]map[string]string{}
	}
	all.owners[o.Owner] = o
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(all.members)) {
		if err := all.members[name].follow(o); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Forget stops to observe the owner's Jobs. They stay where they are: see
// [Clusters.DeleteJobs].
func (all *Clusters) Forget(owner types.UID) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.owners, owner)
	delete(all.sources, owner)
	for _, r := range all.members {
		r.forget(owner)
	}
}

// Observe returns the members, by name, with the Jobs of an owner that is followed,
// and the failures since it was called before for that owner: each is told once, so
// that a plan is to be made of what it returns. It makes no request. The cost is that
// of sorting the Jobs by name (BenchmarkObserve).
//
// A member is Reachable if its last health check passed and nothing failed to be
// watched since, and Known from the first list of its Jobs on. When one does not
// answer, its Jobs are those last seen.
func (all *Clusters) Observe(owner types.UID, now time.Time) ([]placement.JobCluster, []placement.Failure) {
	var clusters []placement.JobCluster
	var failures []placement.Failure
	for _, c := range all.list() {
		seen, failed := c.observe(owner, now)
		clusters, failures = append(clusters, seen), append(failures, failed...)
	}
	names := identify(clusters)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.owners[owner].Owner != "" {
		all.sources[owner] = names
	}
	return clusters, failures
}

// together calls do for each of n members at once.
func together(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// errAway is why a member is not asked.
func (c *Cluster) errAway() error {
	if err := c.health.problem(); err != nil {
		return fmt.Errorf("member %s does not answer: %w", c.name, err)
	}
	return fmt.Errorf("member %s has passed no health check since it did not answer", c.name)
}

var errNotRegistered = errors.New("it is not registered")
