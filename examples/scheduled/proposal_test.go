package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// The proposal's own example, as JSON, with what it meant by PT01.
func TestProposal(t *testing.T) {
	text, err := os.ReadFile("manifests/proposal.json")
	require.NoError(t, err)
	found, err := scheduledjob.Read(text)
	require.NoError(t, err)
	require.Len(t, found, 1)
	c, err := found[0].Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	i, err := interval.Parse("R5/T01:00:00/PT1H")
	require.NoError(t, err)
	require.Equal(t, schedule.ISO8601(i, time.UTC), c.Schedule.Schedule)
	require.Equal(t, [3]bool{true, false, false}, [3]bool{c.Schedule.SkipOutdated, c.Schedule.BlockOnFailure, c.Schedule.Concurrency == schedule.Allow})
	require.Equal(t, [3]int64{2, 100, 1}, [3]int64{int64(c.MaxRestart), c.ExecTimeout, int64(c.PodCount)})
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Error())
	}
	require.Equal(t, []string{
		"spec.PodCount: found another spelling, which a cluster does not know; use podCount",
		"spec.selector: found one; use none; it is ignored, because a Job makes its own",
		`spec.template.spec.restartPolicy: found "OnFailure"; use Never, which replaces OnFailure; a failing pod is replaced up to maxRestart times`,
	}, warnings)
}
