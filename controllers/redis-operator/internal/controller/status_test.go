package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/slots"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// conditions returns those that have something to tell.
func conditions(s v1.ScaledJobStatus) (all []string) {
	for _, c := range s.Conditions {
		if c.Reason != "Succeeding" && c.Reason != scaledjob.ReasonUnknown {
			all = append(all, fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason))
		}
	}
	return all
}

// A queue that is lost and found again, step by step.
func TestTransitions(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	connected := []string{"QueueConnected True Connected", "Ready True Reconciled"}
	unreachable := []string{"QueueConnected False RedisUnreachable", "Ready False RedisUnreachable"}
	lost := outcome{unread: errors.New("Redis at redis:6379 hangs up"), active: 4}
	var status v1.ScaledJobStatus
	for i, step := range []struct {
		outcome
		conditions []string
		events     []string
		depth      int64
		scaled     int // the step
	}{
		{outcome{depth: 0}, connected, nil, 0, -1},
		{outcome{depth: 47, desired: 5, active: 5, created: 5}, connected, []string{"Normal CreatedJobs Created 5 Jobs for 47 items: 5 of 5 Jobs active"}, 47, 1},
		{outcome{depth: 40, desired: 4, active: 5}, connected, nil, 40, 1},
		{lost, unreachable, []string{"Warning RedisUnreachable Redis at redis:6379 hangs up"}, 40, 1},
		{lost, unreachable, nil, 40, 1},
		{
			outcome{unread: secretError{errors.New("no Secret")}, active: 4}, []string{"QueueConnected False SecretUnreadable", "Ready False SecretUnreadable"},
			[]string{"Warning SecretUnreadable no Secret"}, 40, 1,
		},
		{
			outcome{invalid: errors.New("no address"), active: 4}, []string{"QueueConnected Unknown InvalidSpec", "Ready False InvalidSpec"},
			[]string{"Warning InvalidSpec no address"}, 40, 1,
		},
		{lost, unreachable, []string{"Warning RedisUnreachable Redis at redis:6379 hangs up"}, 40, 1},
		{outcome{depth: 9, desired: 1, active: 1}, connected, []string{"Normal QueueConnected The queue can be read again"}, 9, 1},
		{
			outcome{depth: 30, desired: 3, active: 2, created: 1, creates: errors.New("quota")},
			[]string{"QueueConnected True Connected", "JobsCreated False JobCreateFailed", "Ready False JobCreateFailed"},
			[]string{"Normal CreatedJobs Created 1 Job for 30 items: 2 of 3 Jobs active"}, 30, 9,
		},
		{
			outcome{depth: 30, desired: 3, active: 2, deletes: errors.New("denied")},
			[]string{"QueueConnected True Connected", "JobsDeleted False JobDeleteFailed", "Ready False JobDeleteFailed"}, nil, 30, 9,
		},
		{
			outcome{unread: errors.New("Redis hangs up"), active: 2, holds: []slots.Hold{{Reason: slots.BackingOff, Text: "2 Jobs are refused"}, {Reason: slots.DeleteUnanswered, Text: "a delete"}}},
			[]string{"QueueConnected False RedisUnreachable", "JobsCreated False BackingOff", "JobsDeleted False DeleteUnanswered", "Ready False RedisUnreachable"},
			[]string{"Warning RedisUnreachable Redis hangs up"}, 30, 9,
		},
	} {
		before := *status.DeepCopy()
		step.write(&status, int64(i), noon.Add(time.Duration(i)*time.Minute))
		require.Equal(t, step.conditions, conditions(status), i)
		require.Equal(t, step.depth, *status.QueueDepth, i)
		require.Equal(t, step.active, status.ActiveJobs, i)
		if step.scaled < 0 {
			require.Nil(t, status.LastScaleTime)
		} else {
			require.True(t, status.LastScaleTime.Time.Equal(noon.Add(time.Duration(step.scaled)*time.Minute)), i)
		}
		for _, c := range status.Conditions {
			require.EqualValues(t, i, c.ObservedGeneration)
			require.NotEmpty(t, c.Message)
		}
		var told []string
		for _, n := range step.notes(&before, &status) {
			told = append(told, n.kind+" "+n.reason+" "+n.message)
		}
		require.Equal(t, step.events, told, i)
	}
}

// Before a queue has been read nothing is said of its depth; and what is told of an error
// fits.
func TestNeverRead(t *testing.T) {
	var status v1.ScaledJobStatus
	o := outcome{unread: errors.New(strings.Repeat("ü", 100_000))}
	o.write(&status, 1, time.Time{})
	require.Nil(t, status.QueueDepth)
	require.Nil(t, status.DesiredJobs)
	require.Len(t, []rune(status.Conditions[0].Message), 256)
	require.Len(t, o.notes(&v1.ScaledJobStatus{}, &status), 1, "that it is not there from the beginning is news as well")
	require.Equal(t, metav1.ConditionFalse, status.Conditions[0].Status)
}
