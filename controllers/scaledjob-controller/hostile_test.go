package main

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// What the API server says about a Job and a status is harmless in conditions, events and the log.
func TestHostileAnswer(t *testing.T) {
	benched(t, false, func(b *bench) {
		b.kube.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, &batchv1.Job{}, processtest.Hostile()
		})
		time.Sleep(time.Minute)
		b.refuse(processtest.Hostile())
		time.Sleep(10 * time.Minute)
		texts := append(b.statuses(), b.said())
		for _, a := range b.kube.Actions() {
			if create, ok := a.(clienttesting.CreateAction); ok && a.GetResource().Resource == "events" {
				texts = append(texts, create.GetObject().(*eventsv1.Event).Note)
			}
		}
		processtest.RequireHarmless(b, texts...)
	}, object("orders", "u", func(spec map[string]any) { spec["minReplicaCount"] = int64(2) }))
}

// What an API server answers to any request of the program is harmless in its log.
func TestHostileServer(t *testing.T) { processtest.RunHostile(t, newOptions(), "-namespace=tenant") }
