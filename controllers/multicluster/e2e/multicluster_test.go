package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The clusters serve all; each has a namespace of its own, and a controller that acts
// there only.
func TestMulticluster(t *testing.T) {
	s := newStand(t, names...)
	require.True(t, t.Run("members", s.setsUp), "all others need them")
	for _, test := range []struct {
		name string
		run  func(*stand, *testing.T)
	}{
		{"without a permission", (*stand).lacks},
		{"switches", (*stand).switches},
		{"the documented manifests", (*stand).documented},
		{"two controllers", (*stand).elects},
		{"weights, and an API server that dies", (*stand).survives},
		{"a trickle by weight", (*stand).trickles},
		{"pods that never start", (*stand).replaces},
		{"a replacement that finishes between two polls", (*stand).finishesBetweenPolls},
		{"a stuck Job counts once, a taint for its owner", (*stand).countsOnce},
		{"a create that arrives late", (*stand).arrivesLate},
		{"priority failover", (*stand).failsOver},
		{"pause, resume", (*stand).pauses},
		{"overrides", (*stand).overrides},
		{"replicas", (*stand).rebalances},
		{"replicas grow before others shrink", (*stand).growsFirst},
		{"a member that leaves the list", (*stand).leaves},
		{"a formula, an idle count, original counts", (*stand).scalesLikeKEDA},
		{"a fallback after three failed reads", (*stand).fallsBack},
		{"a demand that alternates", (*stand).holds},
		{"a StatefulSet", (*stand).statefulSets},
		{"killed in a burst", (*stand).killedInBurst},
		{"one owner without pods", (*stand).keepsApart},
		{"pods that are never ready", (*stand).readyPodsCount},
		{"a hub without network", (*stand).losesNetwork},
		{"lost Jobs", (*stand).losesJobs},
		{"orphans", (*stand).findsOrphans},
		{"deletion", (*stand).cleansUp},
		{"a kubeconfig that cannot be used", (*stand).breaks},
		{"a member that refuses", (*stand).refuses},
		{"one of two members that refuses", (*stand).refusesBeside},
		{"a member that is away from the start", (*stand).startsWithout},
		{"secrets", (*stand).keepsSecrets},
		{"permissions", (*stand).permissions},
		{"no secret is told", (*stand).tellsNoSecret},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

func weights(w ...int) string {
	var members []string
	for i, w := range w {
		members = append(members, fmt.Sprintf("{name: %s, weight: %d}", names[i], w))
	}
	return "  memberClusters: [" + strings.Join(members, ", ") + "]"
}

const failoverPolicy = "\n  clusterScheduling: {failoverPolicy: {gracePeriod: 3s, softTaintDuration: %s, hardTaintDuration: %s, duplicationPolicy: %s}}"
