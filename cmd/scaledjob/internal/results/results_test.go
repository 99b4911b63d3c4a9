package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// The faults of clusters and pods are named.
func TestFaultsAreNamed(t *testing.T) {
	s := simulation.Scenario{Clusters: []simulation.Cluster{{Name: "east", Outages: []simulation.Outage{{Until: simulation.Duration(time.Minute)}}}}}
	s.Jobs.FailureProbability = 0.015
	require.Equal(t, []string{"cluster east down from 0s to 1m", "pods fail at 1.5 % of the items"}, faults(&s))
}
