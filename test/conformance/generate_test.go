package conformance

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kedacore/keda/v2/version"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
)

// What KEDA sets of a Job, with labels and annotations that are its own too.
func TestRandomGenerate(t *testing.T) {
	keys := []string{"team", "scaledjob.keda.sh/name", "app.kubernetes.io/name", "app.kubernetes.io/version", " team",
		"scaledjob.keda.sh/generation", "autoscaling.keda.sh/paused", "scaledjob.keda.sh/job-excluded-labels"}
	values := []string{"", "a", "orders", "false", "team", "team,app.kubernetes.io/name", "scaledjob.keda.sh/name, team"}
	labels := rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		j := &keda.ScaledJob{
			Name: "orders", Namespace: "shop", Generation: rapid.Int64().Draw(t, "generation"),
			Labels: labels.Draw(t, "labels"), Annotations: labels.Draw(t, "annotations"),
		}
		j.PodLabels = labels.Draw(t, "pods")
		j.RestartPolicy = oneOf(t, "restart", "", "Never", "OnFailure")
		c := clusterOf(j, nil)
		newOperator(c)(operatorOf(j), true, 1, 1)
		job := c.created[0]
		model := profile.Generate(j, version.Version)
		operator := keda.GeneratedJob{
			GenerateName: job.GenerateName, Namespace: job.Namespace, Labels: job.Labels, Annotations: job.Annotations,
			PodLabels: job.Spec.Template.Labels, RestartPolicy: string(job.Spec.Template.Spec.RestartPolicy),
		}
		c.jobs, c.created = c.created, nil
		newOperator(c)(operatorOf(j), true, 1, 1)
		operator.Tracked = len(c.created) == 0
		same(t, fmt.Sprintf("%+v", model), fmt.Sprintf("%+v", operator), func() string { return fmt.Sprintf("%+v", j) })
		same(t, true, maps.Equal(model.Annotations, operator.Annotations), func() string { return fmt.Sprintf("%+v", j) })
	})
}
