package adapter_test

import (
	"testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/test/premise"
)

// Every configuration, decision and checkpoint of the module survives JSON. The module
// adapter/controllerruntime has none.
func TestTypes(t *testing.T) {
	const (
		act, wiring, kubernetes = "what an act returned", "wiring", "as Kubernetes has it: its type of a Job"
		runs, made              = "runs, and holds clients", "made of a manifest in Go, with Kubernetes' type of a Job"
	)
	premise.JSON(t, ".", []any{
		adapter.Owner{}, adapter.Deletion{}, adapter.Plan{}, adapter.FailureCheckpoint{},
		kedametrics.Problem{}, manifest.Trigger{}, manifest.Rollout{}, manifest.ScalingStrategy{}, manifest.AuthenticationRef{},
		manifest.ScaleTrigger{}, member.Owned{}, scheduledjob.Dependency{}, scheduledjob.CronNote{},
	}, map[string]string{
		"adapter.CreateError": "an error", "adapter.Result": act, "adapter.Options": wiring, "adapter.Tracker": runs, "adapter.Target": made,
		"adapter.FailureBackoff": "part of a Target", "adapter.FailureObservation": "has Jobs", "adapter.Job": "printed: its phase is text",
		"externalmetrics.Metric": "has a selector", "externalmetrics.Options": wiring, "externalmetrics.Reader": runs, "externalmetrics.Reading": "has an error",
		"kedametrics.Owner": "has the templates of the triggers", "kedametrics.Reading": "has errors", "kedametrics.Clients": wiring, "kedametrics.Options": wiring, "kedametrics.Reader": runs,
		"loop.Clients": wiring, "loop.Keys": runs, "loop.Stats": act, "loop.Turn": act, "loop.Lease": runs, "loop.Answer": act, "loop.Limit": runs, "loop.Backoff": runs, "loop.Loop": runs, "loop.Options": wiring,
		"manifest.Config": made, "manifest.Kind": "has functions", "manifest.Found": act, "manifest.Object": kubernetes, "manifest.ScaledJob": kubernetes, "manifest.Spec": kubernetes,
		"member.Report": act, "member.Cleanup": act, "member.Cluster": runs, "member.Clusters": runs, "member.Observation": runs, "member.Clients": wiring, "member.Options": wiring,
		"member.ContainerOverride": kubernetes, "member.PodOverrides": kubernetes, "member.Resources": kubernetes, "member.ReplicasPoll": act, "member.ScaleReport": act, "member.Workload": "has a client's mapping", "member.Override": kubernetes,
		"requests.Owner": runs, "requests.Queue": runs, "requests.Slot": runs, "requests.Stats": act, "requests.Terms": runs, "requests.Term": runs,
		"scaledjob.Config": made, "scaledjob.Event": act, "scaledjob.Facts": act, "scaledjob.PollResult": act,
		"scheduledjob.Config": made, "scheduledjob.Schedule": "as Kubernetes has it: its type of a time", "scheduledjob.Inputs": made, "scheduledjob.Observation": runs, "scheduledjob.ScheduledJob": kubernetes, "scheduledjob.Spec": kubernetes,
		"scheduledjob.Status": "JSON, with a test in package scheduledjob", "scheduledjob.Order": act, "scheduledjob.Tracker": runs,
	})
}
