package main

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// refused are the types whose target no manifest gives, and decided those whose target
// several keys or a constant decide. scalers_test.go constructs the scalers of both.
var (
	refused = []string{"cpu", "external", "external-mock", "external-push", "memory"}
	decided = []string{"cron", "forgejo-runner", "rabbitmq", "redis-cluster-streams", "redis-sentinel-streams", "redis-streams",
		"selenium-grid", "solace-direct-messaging", "solace-event-queue"}
)

// newest reads the source code of the newest release.
func newest(t *testing.T) *source {
	dir, err := download(versions[len(versions)-1])
	require.NoError(t, err)
	s, err := load(dir)
	require.NoError(t, err)
	return s
}

func trigger(kind string, metadata map[string]string) (manifest.Trigger, error) {
	s := &manifest.ScaledJob{}
	s.Spec.Triggers = []manifest.ScaleTrigger{{Type: kind, Metadata: metadata}}
	read, err := s.Triggers(nil)
	return read[0], err
}

// KEDA's types are those of the adapter: each has a target or is refused.
func TestTriggerTypes(t *testing.T) {
	kinds := sorted(newest(t).constructors())
	require.Greater(t, len(kinds), 70)
	own := append(slices.DeleteFunc(manifest.TriggerTypes(), func(kind string) bool { return kind == "stan" }), refused...)
	slices.Sort(own)
	require.Equal(t, kinds, own)
	for _, kind := range refused {
		_, err := trigger(kind, map[string]string{"value": "5", "targetValue": "5"})
		require.ErrorContains(t, err, "spec.triggers[0].type: found "+strconv.Quote(kind))
		require.NotContains(t, err.Error(), "a type of KEDA, such as rabbitmq", kind)
	}
}

// The target's key, its other names and its default are those of the fields that
// KEDA's scaler reads.
func TestTriggerTargets(t *testing.T) {
	s := newest(t)
	for kind := range s.constructors() {
		if slices.Contains(refused, kind) || slices.Contains(decided, kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			targets, _ := s.numbers(kind)
			require.Len(t, targets, 1)
			p := targets[0]
			unset, err := trigger(kind, nil)
			require.Equal(t, number(p.Default), unset.Target)
			if unset.Target == 0 {
				require.ErrorContains(t, err, "spec.triggers[0].metadata."+p.Names[0]+": found nothing")
			} else {
				require.NoError(t, err)
			}
			metadata := map[string]string{}
			for i, name := range slices.Backward(p.Names) { // the first one has precedence
				metadata[name] = strconv.Itoa(7 + i)
				got, err := trigger(kind, metadata)
				require.NoError(t, err)
				require.Equal(t, float64(7+i), got.Target, name)
			}
		})
	}
}

// The activation key and its default are those of the field that KEDA's scaler
// compares with the metric. Without a field, the threshold is 0.
func TestTriggerActivation(t *testing.T) {
	s := newest(t)
	for kind := range s.constructors() {
		_, thresholds := s.numbers(kind)
		if len(thresholds) > 1 || slices.Contains(refused, kind) { // several: datadog, solace-event-queue
			continue
		}
		p := append(thresholds, triggers.Parameter{})[0]
		got, _ := trigger(kind, nil)
		require.Equal(t, number(p.Default), got.ActivationThreshold, kind)
		if len(p.Names) > 0 {
			got, _ = trigger(kind, map[string]string{p.Names[0]: "3"})
			require.Equal(t, 3.0, got.ActivationThreshold, kind)
		}
	}
}
