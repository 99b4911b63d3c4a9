package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// counts waits until the ScaledJob has that many active Jobs.
func (p *place) counts(name string, active int) {
	p.t.Helper()
	p.becomes(30*time.Second, func(t *assert.CollectT) { require.EqualValues(t, active, p.get(t, name).Status.ActiveJobs) })
}

// The article's manifest, with this Redis' address.
func (s *fixture) article(t *testing.T) {
	p := s.place(t, "production")
	s.push(t, s.list(t, "image-resize-queue"), 47)
	sample := manifest.Read(t, "../config/samples/image-processor.yaml")
	s.apply(t, sample)
	s.apply(t, strings.NewReplacer("redis.production.svc.cluster.local:6379", s.address,
		"template:\n", "template:\n        metadata: {annotations: {"+works+": 1h}}\n").Replace(sample))
	o := p.operator("-leader-elect") // with a lease the first creates do not wait
	p.counts("image-processor", 5)
	require.Len(t, p.jobs(t), 5)
	status := p.get(t, "image-processor").Status
	require.EqualValues(t, 47, *status.QueueDepth)
	require.EqualValues(t, 5, *status.DesiredJobs)
	require.WithinDuration(t, time.Now(), status.LastScaleTime.Time, 5*time.Second)
	require.Equal(t, "True Reconciled", p.condition(t, "image-processor", "Ready"))
	require.Equal(t, "True Connected", p.condition(t, "image-processor", "QueueConnected"))
	time.Sleep(3 * time.Second)
	require.Len(t, p.jobs(t), 5, "however often it looks")
	o.Stop()
}

// A name that somebody else has taken is passed over. A Job of the ScaledJob that lost
// its label is found by its name, and counts.
func (s *fixture) taken(t *testing.T) {
	p := s.place(t, "taken")
	list := s.list(t, "scaledjob-e2e-taken")
	s.push(t, list, 20)
	sj := p.consume(list, "1h")
	o := p.operator("-leader-elect")
	p.counts("consumer", 2)
	jobs := p.jobs(t)
	require.Len(t, jobs, 2)
	second := jobs[slices.IndexFunc(jobs, func(j batchv1.Job) bool { return strings.HasSuffix(j.Name, "-2") })]
	labelled := second.DeepCopy()
	delete(second.Labels, adapter.LabelOwner) // with a patch, since the Job controller writes too
	require.NoError(t, s.client.Patch(t.Context(), &second, client.MergeFrom(labelled)))
	other := &batchv1.Job{Spec: *sj.Spec.JobTemplate.Spec.DeepCopy()}
	other.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: strings.TrimSuffix(second.Name, "2") + "4"}
	require.NoError(t, s.client.Create(t.Context(), other))

	s.push(t, list, 20)
	p.counts("consumer", 4) // 1, 2, 3 and 5
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	require.Len(t, p.jobs(t), 5)
	o.Stop()
}
