package member_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
)

// A tenancy is a fleet with several owners, of which the first may fail.
type tenancy struct {
	clusters, owners int
	scheduling       jobs.Scheduling
	sameNamespace    bool // owners 0 and 1
	fault            string
	on               string // the cluster where owner 0 fails; "" means all
	failover         jobs.Failover
	demand           []int64
	polls            int
	soft             time.Duration // of the fleet
	down             string        // a cluster that answers nothing from the third poll on
}

// Faults of an owner's pods, and of his requests by what becomes of them.
var (
	podFaults  = []string{"never starts", "starts late", "deadline", "lies", "many pods", "made-up owners"}
	callFaults = map[string]fault{
		"quota":       on("create", instead(errForbidden)),
		"refused":     away,
		"create 500":  on("create", instead(status(500))),
		"create 429":  on("create", instead(status(429))),
		"DELETE 500":  on("delete", instead(status(500))),
		"create lost": on("create", instead(errReset)),
		"get 403": func(_ context.Context, verb, _ string, send func() error) error { // of a create that was not answered
			switch verb {
			case "create":
				return after(errReset)(send)
			case "get":
				return status(403)
			}
			return send()
		},
		"hangs": func(ctx context.Context, verb, name string, send func() error) error {
			if verb == "create" {
				return hangs(ctx, verb, name, send)
			}
			return send()
		},
	}
)

// A tenant is an owner of a tenancy.
type tenant struct {
	target     adapter.Target
	policy     jobs.Policy
	checkpoint jobs.Checkpoint
	demand     int64
}

const tick = 20 * time.Second

// play returns the Jobs of the owners after each poll, by owner.
func (s *tenancy) play(t *testing.T, fails bool) (after [][]string, failed bool) {
	all := &member.Clusters{Taints: &taint.Durations{Soft: s.soft, Hard: 5 * time.Minute}}
	w := &fixture{t: t, all: all, sites: map[string]*site{}}
	names := []string{}
	for i := range s.clusters {
		name := fmt.Sprintf("c%02d", i)
		names = append(names, name)
		w.sites[name] = siteOf(fake.NewSimpleClientset(), name) // at most 60 Jobs
	}
	var tenants []*tenant
	for i := range s.owners {
		target := anOwner(types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012d", i)))
		target.Owner.Name, target.Owner.Namespace = fmt.Sprint("owner", i), fmt.Sprint("team", i)
		if s.sameNamespace && i == 1 {
			target.Owner.Namespace = "team0"
		}
		policy := jobs.DefaultPolicy()
		if s.watchesPods() { // and all owners need the evidence of theirs
			target.PendingPodConditions, policy.Failover.GracePeriod = []string{"Ready"}, tick
		}
		policy.Revision, policy.Scheduling, policy.Seed = rollout.Revision{}, s.scheduling, fmt.Sprint(i)
		policy.Workload = taint.Workload{Class: "a", Size: 1}
		policy.History = history.Policy{Succeeded: history.Keep(0)} // so that Jobs are deleted
		for k, name := range names {
			m := jobs.NewMember(name)
			m.Priority = new(int32(100 - k))
			policy.Members = append(policy.Members, m)
		}
		if i == 0 && fails {
			policy.Failover = s.failover
		}
		require.NoError(t, all.Track(target, nil))
		tenants = append(tenants, &tenant{target: target, policy: policy, demand: s.demand[i]})
	}
	var met atomic.Bool
	mine := func(name string) bool { return strings.HasPrefix(name, "owner0-") }
	for _, name := range names {
		fault := callFaults[s.fault]
		begin := time.Now()
		w.sites[name].breaks(func(ctx context.Context, verb, job string, send func() error) error {
			switch {
			case name == s.down && time.Since(begin) > 2*tick:
				return errReset
			case fails && fault != nil && mine(job) && (s.on == "" || s.on == name):
				err := fault(ctx, verb, job, send)
				met.Store(met.Load() || err != nil)
				return err
			}
			return send()
		})
		w.add(name, member.Options{Interval: 5 * time.Second, Pods: s.watchesPods(), Key: []byte("the hub's")})
	}
	defer func() {
		for _, name := range names {
			all.Remove(name)
		}
	}()
	time.Sleep(6 * time.Second)
	shared := map[string]taint.Set{}
	begin := time.Now()
	for poll := range s.polls {
		for _, of := range tenants {
			go func() {
				seen := all.Observe(of.target.Owner.UID)
				n := of.target.Owner.Namespace
				d := jobs.Decide(of.policy, jobs.Observation{Metrics: demand(of.demand), Clusters: seen.Clusters, Shared: shared[n], Now: time.Now()}, of.checkpoint)
				of.checkpoint = d.Checkpoint
				all.Apply(t.Context(), seen, d)
			}()
			synctest.Wait()
			n := of.target.Owner.Namespace
			shared[n] = taint.Merge(shared[n], of.checkpoint.Workloads()).At(time.Now())
		}
		time.Sleep(time.Until(begin.Add(time.Duration(poll)*tick + 16*time.Second)))
		jobsOf := make([]string, s.owners)
		for _, name := range names {
			fault := callFaults[s.fault]
			for _, j := range w.jobs(name) {
				for i, of := range tenants {
					if j.Labels[adapter.LabelOwner] == string(of.target.Owner.UID) {
						jobsOf[i] += fmt.Sprintf("%s/%s/%v/%v ", name, j.Name, j.CreationTimestamp.Unix(), j.Status.Ready != nil)
					}
				}
				bad := fails && mine(j.Name) && (s.on == "" || s.on == name)
				late := bad && s.fault == "starts late" && time.Since(j.CreationTimestamp.Time) < 90*time.Second
				met.Store(met.Load() || bad && fault == nil)
				switch {
				case bad && s.fault == "lies":
					w.lie(name, &j, poll)
					continue
				case bad && s.fault == "many pods": // of many completions, or of failures that are ignored
					w.pods(name, &j, poll, 60)
					synctest.Wait()
				case bad && s.fault == "made-up owners":
					w.forgePods(name, j, poll)
				}
				switch {
				case bad && s.fault == "never starts", late, len(j.Status.Conditions) > 0:
				case j.Status.Ready != nil:
					if time.Since(j.CreationTimestamp.Time) > 30*time.Second {
						finishes(&j)
						w.update(name, &j)
					}
				case bad && s.fault == "deadline":
					j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True"}}
					w.update(name, &j)
				default:
					runs(&j)
					w.update(name, &j)
					if s.watchesPods() {
						w.pods(name, &j, -1-poll, 1)
					}
				}
			}
		}
		for i := range jobsOf {
			words := strings.Fields(jobsOf[i])
			slices.Sort(words)
			jobsOf[i] = strings.Join(words, " ")
		}
		after = append(after, jobsOf)
		time.Sleep(time.Until(begin.Add(time.Duration(poll+1) * tick)))
	}
	return after, met.Load()
}

func (s *tenancy) watchesPods() bool { return s.fault == "many pods" || s.fault == "made-up owners" }

// forgePods creates pods with a Job's labels in another namespace, each of another owner.
func (w *fixture) forgePods(name string, j batchv1.Job, round int) {
	j.Namespace, j.Spec.Template.Labels = "elsewhere", maps.Clone(j.Spec.Template.Labels)
	for i := range 60 {
		j.Spec.Template.Labels[adapter.LabelOwner] = fmt.Sprintf("00000000-0000-4000-8000-%012d", 100*round+i)
		w.pods(name, &j, 100*round+i, 1)
		synctest.Wait()
	}
}

func (w *fixture) update(name string, j *batchv1.Job) {
	_, err := w.sites[name].Clientset.BatchV1().Jobs(j.Namespace).Update(context.Background(), j, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (s *tenancy) names() []string {
	all := []string{""}
	for i := range s.clusters {
		all = append(all, fmt.Sprintf("c%02d", i))
	}
	return all
}

// The law of independence: whatever becomes of one owner's pods and requests, and whatever
// his failoverPolicy is, the Jobs of every other owner are the same after each poll as
// without it. Under priorityFailover that holds for owners in other namespaces.
func TestIndependence(t *testing.T) {
	kinds := append(slices.Sorted(maps.Keys(callFaults)), podFaults...)
	cases := rapid.Custom(func(rt *rapid.T) tenancy { return drawTenancy(rt, kinds) })
	n, held, busy := 44, map[string]int{}, 0
	if testing.Short() {
		n = len(kinds)
	}
	if text := os.Getenv("SCALEDJOB_CASES"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for seed := range n {
		s := cases.Example(seed)
		s.fault, s.soft = kinds[seed%len(kinds)], time.Duration(seed/len(kinds)%2)*3*time.Minute
		if seed%50 == 7 {
			s.clusters, s.owners, s.on, s.down = 30, 2, "", ""
		}
		if seed/len(kinds)%2 == 1 {
			s.scheduling, s.on = jobs.PriorityFailover, ""
		}
		var with, without [][]string
		var failed bool
		synctest.Test(t, func(t *testing.T) { with, failed = s.play(t, true) })
		synctest.Test(t, func(t *testing.T) { without, _ = s.play(t, false) })
		if failed {
			held[s.fault]++
		}
		for poll := range with {
			for i := 1; i < s.owners; i++ {
				if s.scheduling == jobs.PriorityFailover && s.sameNamespace && i == 1 {
					continue
				}
				require.Equal(t, without[poll][i], with[poll][i], "seed %d: owner %d after poll %d: %+v", seed, i, poll, s)
				if with[poll][i] != "" {
					busy++
				}
			}
		}
	}
	t.Logf("%d cases; owner 0 failed: %v; %d polls of others with Jobs", n, held, busy)
	total := 0
	for _, kind := range kinds {
		require.True(t, held[kind] > 0 || n < 100, kind)
		total += held[kind]
	}
	require.Greater(t, 2*total, n)
	require.Greater(t, busy, 5*n)
}

func drawTenancy(rt *rapid.T, kinds []string) tenancy {
	s := tenancy{
		clusters: rapid.SampledFrom([]int{2, 2, 3, 4, 6}).Draw(rt, "clusters"), owners: rapid.SampledFrom([]int{2, 3, 4, 10}).Draw(rt, "owners"),
		scheduling:    rapid.SampledFrom([]jobs.Scheduling{jobs.WeightedRoundRobin, jobs.PriorityFailover}).Draw(rt, "scheduling"),
		sameNamespace: rapid.Bool().Draw(rt, "same namespace"), polls: 7,
	}
	if s.clusters*s.owners > 60 {
		s.owners = 2
	}
	s.on = rapid.SampledFrom(s.names()).Draw(rt, "on")
	if s.clusters > 2 && rapid.IntRange(0, 3).Draw(rt, "down") == 0 {
		s.down = rapid.SampledFrom(s.names()[1:]).Draw(rt, "which")
	}
	s.failover = jobs.Failover{
		GracePeriod: rapid.SampledFrom([]time.Duration{0, 20 * time.Second, time.Minute}).Draw(rt, "grace"),
		HardTaint:   rapid.SampledFrom([]time.Duration{0, time.Minute, 100 * time.Hour}).Draw(rt, "hard"),
		SoftTaint:   rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(rt, "soft"),
		Duplication: rapid.SampledFrom([]jobs.Duplication{jobs.KeepAll, jobs.PreferFailover}).Draw(rt, "duplication"),
		LostAfter:   rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(rt, "lost"),
	}
	for range s.owners {
		s.demand = append(s.demand, rapid.Int64Range(1, 6).Draw(rt, "demand"))
	}
	return s
}
