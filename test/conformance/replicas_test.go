package conformance

import (
	"fmt"
	"math"
	"testing"

	"github.com/scaledjob/scaledjob/keda"
)

// bounds are the values of minReplicaCount and maxReplicaCount that make a
// difference.
func bounds() []*int32 {
	all := []*int32{nil, new(int32(math.MinInt32)), new(int32(math.MaxInt32)), new(int32(100)), new(int32(150))}
	for n := range int32(30) {
		all = append(all, new(n-5))
	}
	return all
}

func TestReplicas(t *testing.T) {
	for _, least := range bounds() {
		for _, most := range bounds() {
			j := &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: least, MaxReplicaCount: most}}
			model, operator := profile.Replicas(j), operatorOf(j)
			var got keda.Replicas
			if panics(func() { got.Min = operator.MinReplicaCount() }) {
				got.Fault = keda.NoMaximum
			}
			got.QueueMax = operator.MaxReplicaCount()
			same(t, model, got, func() string { return fmt.Sprint(format(least), " ", format(most)) })
		}
	}
}

func format(n *int32) string {
	if n == nil {
		return "unset"
	}
	return fmt.Sprint(*n)
}
