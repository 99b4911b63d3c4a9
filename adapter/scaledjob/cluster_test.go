package scaledjob_test

// What the tests hold:
//
//	every field reaches the Target and the Job               TestEveryFieldHasAnEffect
//	the Jobs of KEDA count, a namesake's Jobs do not         TestJobsOfKEDACount, TestNamesake
//	a state that lasts is reported once                      TestEventsOnce
//	Jobs of an earlier call are not reported as created      TestCreatedOnce
//	an outdated plan changes no condition                    TestOutdatedPlan

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter/adaptertest"
)

// newCluster returns a fake clientset that sets UIDs, as an API server does.
func newCluster(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	adaptertest.Serve(&client.Fake, client.Tracker())
	return client
}
