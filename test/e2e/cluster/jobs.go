package cluster

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
)

// Jobs are what a watch of a namespace has seen, in the order of the API server's events.
type Jobs struct {
	Created    []*batchv1.Job // each as it was first seen
	Unfinished []*batchv1.Job
	Deleted    int
	Peak       int // the most unfinished Jobs at once
}

// WatchJobs watches the Jobs of a namespace until the test ends, those of all clusters together. It returns
// a function that returns what was seen until its call.
func WatchJobs(t testing.TB, namespace string, clusters ...*Cluster) func() Jobs {
	t.Helper()
	var mu sync.Mutex
	var seen Jobs
	unfinished := map[types.UID]*batchv1.Job{}
	update := func(j *batchv1.Job) {
		unfinished[j.UID] = j
		if slices.ContainsFunc(j.Status.Conditions, finished) {
			delete(unfinished, j.UID)
		}
		seen.Peak = max(seen.Peak, len(unfinished))
	}
	for _, c := range clusters {
		informer := batchinformers.NewTypedJobInformer(c.Client(t), namespace, 0, nil)
		_, err := informer.AddTypedEventHandler(batchinformers.JobHandlerFuncs{
			AddFunc: func(j *batchv1.Job) {
				mu.Lock()
				defer mu.Unlock()
				seen.Created = append(seen.Created, j)
				update(j)
			},
			UpdateFunc: func(_, j *batchv1.Job) {
				mu.Lock()
				defer mu.Unlock()
				update(j)
			},
			DeleteFunc: func(last batchinformers.DeletedJob) {
				mu.Lock()
				defer mu.Unlock()
				seen.Deleted++
				delete(unfinished, last.OptionalObj.UID)
			},
		})
		require.NoError(t, err)
		go informer.RunWithContext(t.Context())
		require.Eventually(t, informer.HasSynced, time.Minute, 10*time.Millisecond)
	}
	return func() Jobs {
		mu.Lock()
		defer mu.Unlock()
		now := seen
		now.Created, now.Unfinished = slices.Clone(seen.Created), slices.Collect(maps.Values(unfinished))
		return now
	}
}

func finished(c batchv1.JobCondition) bool {
	return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
}
