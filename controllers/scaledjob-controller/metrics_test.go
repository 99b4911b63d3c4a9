package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// The metrics of the process exist without any fault, so that increase sees the first.
func TestMetricsOfProcess(t *testing.T) {
	benched(t, false, func(b *bench) {
		b.holds("consumer", 3)
		time.Sleep(time.Minute)
		all := b.series("")
		for _, series := range []string{
			"scaledjob_leader 1", "scaledjob_scaledjobs 1", "scaledjob_scheduler_lag_seconds 0", "scaledjob_cache_synced 1",
			`scaledjob_polls{state="busy"} 0`, `scaledjob_polls{state="waiting"} 0`, "scaledjob_request_slots 128",
			`scaledjob_requests{state="held"} 0`, "scaledjob_congested_scaledjobs 0", "scaledjob_all_jobs_created_total 3",
			`scaledjob_all_errors_total{operation="create"} 0`, `scaledjob_plans_stopped_total{reason="edit"} 0`,
			`scaledjob_requests_total{code="429",overload="true",resource="jobs",verb="POST"} 0`,
			`scaledjob_jobs_max{namespace="mail",scaledjob="consumer"} 100`,
		} {
			require.Contains(t, all, series+"\n")
		}
		require.Contains(t, all, "scaledjob_last_poll_timestamp_seconds ")
		require.Contains(t, all, "scaledjob_cache_age_seconds ")
		require.NotContains(t, all, `state="terminating"`, "a series of a ScaledJob appears when it is not 0")
		b.aggregate = true
		require.Empty(t, b.scraped())
		require.Contains(t, b.series(""), "scaledjob_all_jobs_created_total 3\n")
	}, object("consumer", "1", limits(100)))
}

// Names of triggers are cut, between characters.
func TestLabels(t *testing.T) {
	require.Equal(t, "a", label("a"))
	long := label(strings.Repeat("\u00e9", 100))
	require.Equal(t, strings.Repeat("\u00e9", 31), long, "between characters")
	require.Equal(t, strings.Repeat("a", 63), label(strings.Repeat("a", 64)))
	require.Equal(t, "a", label("a\xff"))
	var one tally
	one.add(newTotals(), scaledjob.PollResult{}, []scaling.Metric{{Name: "a", Value: 1}, {Name: "a", Value: 2}})
	require.Len(t, one.queues, 1, "no series twice")
}

// Each answer is counted. An overload is logged once in a while.
func TestObserve(t *testing.T) {
	benched(t, false, func(b *bench) {
		for range 5 {
			b.observe(loop.Answer{Kind: "POST jobs", Code: 429, Answer: requests.Overloaded, RetryAfter: time.Second})
		}
		b.observe(loop.Answer{Kind: "DELETE jobs", Code: 403, Answer: requests.Refused})
		require.Equal(t, 5., testutil.ToFloat64(b.totals.answers.With(prometheus.Labels{"verb": "POST", "resource": "jobs", "code": "429", "overload": "true"})))
		require.Equal(t, 1., testutil.ToFloat64(b.totals.answers.With(prometheus.Labels{"verb": "DELETE", "resource": "jobs", "code": "403", "overload": "false"})))
		require.Equal(t, 1, strings.Count(b.said(), "the API server is overloaded"))
		time.Sleep(time.Minute)
		b.observe(loop.Answer{Kind: "POST jobs", Code: 429, Answer: requests.Overloaded, RetryAfter: time.Second})
		require.Equal(t, 2, strings.Count(b.said(), "the API server is overloaded"))
	})
}

func TestStops(t *testing.T) {
	require.Equal(t, "lease", stop(fmt.Errorf("the plan is outdated: %w", requests.ErrEnded)))
	require.Equal(t, "other", stop(errors.New("no route to host")))
}
