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
	s := newFixture(t, names...)
	require.True(t, t.Run("members", s.setsUp), "all others need them")
	for _, test := range []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"without a permission", (*fixture).lacks},
		{"switches", (*fixture).switches},
		{"the documented manifests", (*fixture).documented},
		{"two controllers", (*fixture).elects},
		{"weights, and an API server that dies", (*fixture).survives},
		{"a trickle by weight", (*fixture).trickles},
		{"pods that never start", (*fixture).replaces},
		{"a replacement that finishes between two polls", (*fixture).finishesBetweenPolls},
		{"a stuck Job counts once, a taint for its owner", (*fixture).countsOnce},
		{"a create that arrives late", (*fixture).arrivesLate},
		{"priority failover", (*fixture).failsOver},
		{"pause, resume", (*fixture).pauses},
		{"overrides", (*fixture).overrides},
		{"replicas", (*fixture).rebalances},
		{"replicas grow before others shrink", (*fixture).growsFirst},
		{"a member that leaves the list", (*fixture).leaves},
		{"a formula, an idle count, original counts", (*fixture).scalesLikeKEDA},
		{"a fallback after three failed reads", (*fixture).fallsBack},
		{"a demand that alternates", (*fixture).holds},
		{"a StatefulSet", (*fixture).statefulSets},
		{"killed in a burst", (*fixture).killedInBurst},
		{"one owner without pods", (*fixture).keepsApart},
		{"pods that are never ready", (*fixture).readyPodsCount},
		{"a hub without network", (*fixture).losesNetwork},
		{"lost Jobs", (*fixture).losesJobs},
		{"orphans", (*fixture).findsOrphans},
		{"deletion", (*fixture).cleansUp},
		{"a kubeconfig that cannot be used", (*fixture).breaks},
		{"a member that refuses", (*fixture).refuses},
		{"one of two members that refuses", (*fixture).refusesBeside},
		{"a member that is away from the start", (*fixture).startsWithout},
		{"secrets", (*fixture).keepsSecrets},
		{"permissions", (*fixture).permissions},
		{"no secret is told", (*fixture).tellsNoSecret},
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
