package test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

// The table of docs/conformance.md has the properties that hold for public autoscalers, and the smallest
// counterexample of each that does not. UPDATE=1 writes it.
func TestAutoscalers(t *testing.T) {
	const page, head = "../docs/conformance.md", "| autoscaler | holds | smallest counterexample of each that does not |\n|---|---|---|\n"
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(data), head)
	require.True(t, found)
	_, after, found = strings.Cut(after, "\n\n")
	require.True(t, found)
	want := before + head + strings.Join(autoscalers(t), "\n") + "\n\n" + after
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(data), "UPDATE=1 go test ./test -run TestAutoscalers")
}

func autoscalers(t *testing.T) (rows []string) {
	for _, release := range []string{"2.8", "2.18", "2.21"} {
		profile, err := keda.Release(release)
		require.NoError(t, err)
		for _, name := range []string{"default", "accurate", "eager", "custom"} {
			if name == "eager" && profile.Supports(keda.EagerStrategy) != nil {
				continue
			}
			spec := keda.ScalingStrategy{Strategy: name}
			if name == "custom" {
				spec.Parameters = strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5"}
			}
			rows = append(rows, kedaRow(profile, spec))
		}
	}
	return append(rows, row("Karmada 1.18, replicas by weight", divisions()), row("HorizontalPodAutoscaler of Kubernetes 1.37, AverageValue", polls()))
}

func kedaRow(profile keda.Profile, spec keda.ScalingStrategy) string {
	s := profile.Strategy(&keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: spec}})
	results := map[string]string{}
	for _, p := range strategytest.All() {
		results[p.Name] = ""
		if err := strategytest.Smallest(s, p); err != nil {
			results[p.Name] = errors.Unwrap(err).Error()
		}
	}
	return row(fmt.Sprintf("KEDA %s, %s", profile.Release(), spec.Strategy), results)
}

// row returns a row of the table: the counterexample of each property, or "" if it holds.
func row(name string, results map[string]string) string {
	var holds, broken []string
	for _, property := range slices.Sorted(maps.Keys(results)) {
		if text := results[property]; text == "" {
			holds = append(holds, property)
		} else {
			broken = append(broken, property+": "+text)
		}
	}
	return fmt.Sprintf("| %s | %s | %s |", name, strings.Join(holds, ", "), cmp.Or(strings.Join(broken, "<br>"), "none up to 8 of each number"))
}

// divide shares replicas by weight among clusters, with ties by name.
func divide(total int, weights []int) (shares []int) {
	var members []replicas.Member
	for i, w := range weights {
		members = append(members, replicas.Member{Name: fmt.Sprint(i), Weight: int32(w)})
	}
	for _, n := range replicas.Split(int32(total), members...) {
		shares = append(shares, int(n))
	}
	return shares
}

// divisions checks the division among two and three clusters, small numbers first.
func divisions() map[string]string {
	results := map[string]string{"SumIsTotal": "", "WithinOneOfQuota": "", "MonotoneInTotal": "", "MonotoneInWeight": ""}
	note := func(property string, broken bool, text string, arguments ...any) {
		if broken && results[property] == "" {
			results[property] = fmt.Sprintf(text, arguments...)
		}
	}
	for size := 2; size <= 24; size++ {
		for code := range 8 * 8 * 8 {
			weights := slices.DeleteFunc([]int{code % 8, code / 8 % 8, code / 64}, func(w int) bool { return w == 0 })
			sum := 0
			for _, w := range weights {
				sum += w
			}
			total := size - sum
			if len(weights) < 2 || total < 0 {
				continue
			}
			shares, more := divide(total, weights), divide(total+1, weights)
			heavier := slices.Clone(weights)
			heavier[0]++
			given := 0
			for i, share := range shares {
				given += share
				note("WithinOneOfQuota", share*sum > total*weights[i]+sum || share*sum < total*weights[i]-sum, "%d replicas at %v give %v", total, weights, shares)
				note("MonotoneInTotal", more[i] < share, "%d replicas at weights %v give %v, and %d give %v", total, weights, shares, total+1, more)
			}
			note("SumIsTotal", given != total, "%d replicas at %v give %v", total, weights, shares)
			after := divide(total, heavier)
			note("MonotoneInWeight", after[0] < shares[0], "%d replicas at weights %v give %v, and at %v give %v", total, weights, shares, heavier, after)
		}
	}
	return results
}

// polls checks one poll of an HPA with an average value of one item and the defaults of Kubernetes.
func polls() map[string]string {
	results := map[string]string{"Pure": "", "WithinBounds": "", "MonotoneInValue": "", "ServesTheQueue": "", "SettlesInOnePoll": "", "EmptyQueueCreatesNothing": ""}
	policy := horizontal.DefaultPolicy(20)
	ask := func(current int32, queue int64) int32 {
		return horizontal.Decide(policy, horizontal.Observation{
			Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Replicas: current, StatusReplicas: current,
			Metrics: []horizontal.Metric{{TargetType: horizontal.AverageValue, Target: 1000, Values: []int64{queue * 1000}}},
		}, horizontal.Checkpoint{}).Replicas
	}
	for size := range int64(40) {
		for current := int32(1); current <= 15 && int64(current) <= size; current++ {
			queue := size - int64(current)
			answer := ask(current, queue)
			note := func(property string, broken bool, text string) {
				if broken && results[property] == "" {
					results[property] = fmt.Sprintf("at %d replicas and %d items it wants %d%s", current, queue, answer, text)
				}
			}
			note("Pure", ask(current, queue) != answer, "")
			note("WithinBounds", answer < 1 || answer > 20, "")
			more, again := ask(current, queue+1), ask(answer, queue)
			note("MonotoneInValue", more < answer, fmt.Sprintf(", and at one more item %d", more))
			note("ServesTheQueue", int64(answer) < min(queue, 20), "")
			note("SettlesInOnePoll", again != answer, fmt.Sprintf(", and then %d", again))
			note("EmptyQueueCreatesNothing", queue == 0 && answer > current, "")
		}
	}
	return results
}
