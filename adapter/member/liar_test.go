package member_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// lies are what a member may claim of a Job: another UID, a forged Job, a wrong count, a time
// that goes back, an end that was none, a beginning after the end, no Job at all.
var lies = []func(j *batchv1.Job) (forged bool){
	func(j *batchv1.Job) bool { j.UID += "1"; return false },
	func(j *batchv1.Job) bool { j.Name += "1"; j.UID += "2"; return true },
	func(j *batchv1.Job) bool { j.Status.Active, j.Status.Ready = 1000, new(int32(-5)); return false },
	func(j *batchv1.Job) bool { j.CreationTimestamp = metav1.NewTime(time.Unix(1, 0)); return false },
	func(j *batchv1.Job) bool { finishes(j); return false },
	func(j *batchv1.Job) bool { j.Status = batchv1.JobStatus{}; return false },
	func(j *batchv1.Job) bool { j.Labels[member.LabelAttempt] = "9"; return false },
	func(j *batchv1.Job) bool {
		j.Labels[member.LabelSource] = j.Name + "." + j.Labels[member.LabelCreation]
		return true
	},
	func(j *batchv1.Job) bool {
		j.DeletionTimestamp = new(metav1.NewTime(time.Unix(1<<40, 0)))
		return false
	},
	nil,
}

// lie lets a member claim something of a Job.
func (w *fixture) lie(name string, j *batchv1.Job, which int) {
	jobsOf := w.sites[name].Clientset.BatchV1().Jobs(j.Namespace)
	lie, was := lies[which%len(lies)], j.Name
	if lie == nil || !lie(j) && j.Name == was {
		_ = jobsOf.Delete(context.Background(), was, metav1.DeleteOptions{}) // if it is there
	}
	if lie != nil {
		_ = w.sites[name].Tracker().Create(batchv1.SchemeGroupVersion.WithResource("jobs"), j, j.Namespace) // or it exists
	}
}

// Whatever a member claims, about Jobs of its own and with labels of other members' Jobs: the
// others never have more than the maximum, no Job of theirs is deleted, another owner on them
// has all of his Jobs, and when the liar is removed they have as many Jobs as are asked for.
func TestLyingMember(t *testing.T) {
	lied := 0
	for seed := range 12 {
		synctest.Test(t, func(t *testing.T) {
			o := slow
			o.Key = []byte("the hub's")
			w := newFixture(t, o)
			for _, name := range []string{"honest", "liar", "other"} {
				w.sites[name] = siteOf(fake.NewSimpleClientset(), name) // at most 60 Jobs
				w.add(name, o)
			}
			deleted := map[string]int{}
			for _, name := range []string{"honest", "other"} {
				w.sites[name].breaks(func(_ context.Context, verb, _ string, send func() error) error {
					if verb == "delete" {
						deleted[name]++
					}
					return send()
				})
			}
			second := anOwner("00000000-0000-4000-9000-000000000002")
			second.Owner.Name = "second"
			require.NoError(t, w.all.Track(second, nil))
			w.ready()
			w.policy.Failover.GracePeriod = time.Duration(seed%3) * 5 * time.Second
			w.policy.Failover.Duplication = []jobs.Duplication{jobs.KeepAll, jobs.PreferFailover, jobs.PreferSource, jobs.ImmediateSourceCleanup}[seed%4]
			w.policy.Scaling.Bounds.Max, w.demand = 9, 9
			of := func(names ...string) (first, other int) {
				for _, name := range names {
					for _, j := range w.jobs(name) {
						if j.Labels[adapter.LabelOwner] == string(owner) {
							first++
						} else {
							other++
						}
					}
				}
				return first, other
			}
			policy := w.policy
			policy.Members = []jobs.Member{jobs.NewMember("honest"), jobs.NewMember("other")}
			policy.Scaling.Bounds.Max = 4
			for poll := range 12 {
				w.poll()
				seen := w.all.Observe(second.Owner.UID)
				w.all.Apply(t.Context(), seen, jobs.Decide(policy, jobs.Observation{Metrics: demand(4), Clusters: seen.Clusters, Now: time.Now()}, jobs.Checkpoint{}))
				for _, name := range []string{"honest", "other"} {
					w.change(name, runs)
				}
				if poll > 1 {
					for i, j := range append(w.jobs("liar"), w.jobs("honest")[:1]...) {
						j.Labels = map[string]string{}
						for k, v := range w.jobs([]string{"liar", "honest"}[i%2])[0].Labels {
							j.Labels[k] = v
						}
						w.lie("liar", &j, seed+poll+i)
						lied++
					}
				}
				time.Sleep(4 * time.Second)
				first, all := of("honest", "other")
				require.LessOrEqual(t, first, 9, "seed %d", seed)
				require.Equal(t, 4, all, "seed %d", seed)
			}
			if w.policy.Failover.Duplication == jobs.KeepAll {
				require.Empty(t, deleted)
			}
			w.all.Remove("liar")
			w.checkpoint = jobs.Checkpoint{}
			for range 4 {
				w.poll()
				time.Sleep(time.Second)
			}
			first, all := of("honest", "other")
			require.Equal(t, []int{9, 4}, []int{first, all}, "seed %d: %s", seed, fmt.Sprint(w.decided))
			w.all.Remove("honest")
			w.all.Remove("other")
		})
	}
	require.Greater(t, lied, 100)
}
