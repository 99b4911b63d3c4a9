package scaledjob_test

// What the tests hold:
//
//	every field reaches the Target and the Job               TestEveryFieldHasAnEffect
//	the Jobs of KEDA count, a namesake's Jobs do not         TestJobsOfKEDACount, TestNamesake
//	a state that lasts is reported once                      TestEventsOnce
//	Jobs of an earlier call are not reported as created      TestCreatedOnce
//	an outdated plan changes no condition                    TestOutdatedPlan

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// newCluster returns a fake clientset that sets UIDs, as an API server does.
func newCluster(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	var n atomic.Int64
	client.PrependReactor("create", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		object, err := meta.Accessor(a.(ktesting.CreateAction).GetObject())
		if err == nil {
			object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n.Add(1))))
		}
		return false, nil, err
	})
	return client
}
