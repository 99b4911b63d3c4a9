package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The verdict begins with the capacity, compares the policies and names the troubles
// that occurred.
func TestVerdict(t *testing.T) {
	for flags, want := range map[string][]string{
		"--metric all --compare default,accurate": {
			" at 0.3/s (0.3/s x 45.0s = 13.5 Jobs at work, maximum 100): the queue does not grow.",
			"accurate creates too many Jobs: ", "Time in which Jobs do no work: "},
		"--metric waiting --compare default,accurate": {"default starves: ", "Wait of 95 % of the items: accurate "},
		"--metric all --compare accurate,accurate":    {"accurate same"},
		"--metric all": {"95 % of the items wait at most "},
		"--metric all --arrivals poisson:30/s --duration 2m": {"only the triggers"},
	} {
		_, out, said := call(t, workload+flags, "")
		for _, text := range want {
			require.Contains(t, out+said, text, flags)
		}
	}
}
