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

// Creates, deletes and the queue fail each in a condition of its own, and Ready says the first.
func TestConditions(t *testing.T) {
	var status v1.ScaledJobStatus
	for _, step := range []struct {
		outcome
		conditions []string
	}{
		{outcome{depth: 30, active: 2, creates: errors.New("quota")}, []string{"QueueConnected True Connected", "JobsCreated False JobCreateFailed", "Ready False JobCreateFailed"}},
		{outcome{depth: 30, active: 2, deletes: errors.New("denied")}, []string{"QueueConnected True Connected", "JobsDeleted False JobDeleteFailed", "Ready False JobDeleteFailed"}},
		{
			outcome{unread: errors.New("Redis hangs up"), holds: []slots.Hold{{Reason: slots.BackingOff, Text: "2 Jobs are refused"}, {Reason: slots.DeleteUnanswered, Text: "a delete"}}},
			[]string{"QueueConnected False RedisUnreachable", "JobsCreated False BackingOff", "JobsDeleted False DeleteUnanswered", "Ready False RedisUnreachable"},
		},
	} {
		step.write(&status, 7, time.Unix(0, 0))
		require.Equal(t, step.conditions, conditions(status))
		for _, c := range status.Conditions {
			require.EqualValues(t, 7, c.ObservedGeneration)
			require.NotEmpty(t, c.Message)
		}
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
