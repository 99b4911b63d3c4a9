package kedametrics

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/scaling"
)

// A clock drives a pace, with a model of KEDA that polls at its own times.
type clock struct {
	t       *testing.T
	pace    *pace
	now     time.Time // ours
	keda    time.Time // KEDA's clock, which is another
	polls   map[string]sample
	active  map[string]bool
	gets    map[string][]time.Time
	decided []time.Time
	next    time.Time
}

func newClock(t *testing.T, interval time.Duration, names ...string) *clock {
	c := &clock{
		t: t, now: time.Unix(1000, 0), keda: time.Unix(900_000, 0), polls: map[string]sample{}, active: map[string]bool{}, gets: map[string][]time.Time{},
		pace: &pace{interval: interval, seen: time.Unix(1000, 0)},
	}
	for _, name := range names {
		c.pace.all = append(c.pace.all, &series{name: name, trigger: name, target: 5, cron: name == "cron"})
	}
	c.next = c.now
	return c
}

// poll stores what KEDA has read.
func (c *clock) poll(values map[string]float64) {
	for name, value := range values {
		c.polls[name] = sample{value: value, stamp: c.keda.Truncate(time.Second)}
	}
}

func (c *clock) fail(names ...string) {
	for _, name := range names {
		c.polls[name] = sample{reason: TriggerFailed}
	}
}

func (c *clock) round(hurry bool) bool {
	decide, next := c.pace.do(round{now: c.now, hurry: hurry, active: func() map[string]bool { return c.active }, read: func(s *series) sample {
		if all := c.gets[s.name]; len(all) > 0 {
			require.GreaterOrEqual(c.t, c.now.Sub(all[len(all)-1]), time.Second, "at most one GET a second")
		}
		c.gets[s.name] = append(c.gets[s.name], c.now)
		if s.cron {
			return sample{value: c.polls[s.name].value, stamp: c.keda}
		}
		return c.polls[s.name]
	}})
	require.True(c.t, next.After(c.now))
	if c.next = next; decide {
		c.decided = append(c.decided, c.now)
	}
	return decide
}

// pass lets time pass, with the rounds that are due.
func (c *clock) pass(d time.Duration) {
	for end := c.now.Add(d); ; {
		step := min(c.next.Sub(c.now), end.Sub(c.now))
		c.now, c.keda = c.now.Add(step), c.keda.Add(step)
		if c.next.After(c.now) {
			return
		}
		c.round(false)
	}
}

func (c *clock) values() (all []float64) {
	for _, m := range c.pace.metrics() {
		if m.Failed {
			m.Value = -1
		}
		all = append(all, m.Value)
	}
	return all
}

// One decision for each poll of KEDA, soon after it, whatever its phase is.
func TestPace(t *testing.T) {
	c := newClock(t, 30*time.Second, "a", "b")
	c.poll(map[string]float64{"a": 3, "b": 4})
	c.pass(0)
	require.Len(t, c.decided, 1)
	require.Equal(t, []float64{3, 4}, c.values())
	for i := range 10 {
		c.pass(30*time.Second + 700*time.Millisecond) // KEDA is a little slower than asked
		polled := c.now
		c.poll(map[string]float64{"a": float64(i), "b": 4})
		c.pass(1100 * time.Millisecond)
		require.Len(t, c.decided, i+2)
		require.LessOrEqual(t, c.decided[i+1].Sub(polled), 1100*time.Millisecond)
		require.Equal(t, []float64{float64(i), 4}, c.values())
		c.keda = c.keda.Add(-time.Hour) // its clock may go back
	}
	require.LessOrEqual(t, len(c.gets["a"]), 45)
	require.Zero(t, c.pace.slow())
}

// A metric that KEDA polls late holds up the reading, which then has the newest value of the other.
func TestLateMetric(t *testing.T) {
	c := newClock(t, 30*time.Second, "a", "b")
	c.poll(map[string]float64{"a": 3, "b": 4})
	c.pass(30 * time.Second)
	c.poll(map[string]float64{"a": 5})
	c.pass(31 * time.Second)
	c.poll(map[string]float64{"a": 7})
	c.pass(4 * time.Second)
	require.Len(t, c.decided, 1)
	c.poll(map[string]float64{"b": 6})
	c.pass(25 * time.Second)
	c.poll(map[string]float64{"a": 8})
	c.pass(3 * time.Second)
	require.Len(t, c.decided, 2)
	require.Equal(t, []float64{8, 6}, c.values())
}

// A metric whose read fails is unreadable in this poll, is read once an interval, and delays no other.
func TestPartlyFailed(t *testing.T) {
	c := newClock(t, 30*time.Second, "a", "b")
	c.poll(map[string]float64{"a": 3})
	c.fail("b")
	c.pass(0)
	require.Equal(t, []float64{3, -1}, c.values())
	c.active = map[string]bool{"b": true}
	c.now = c.now.Add(2 * time.Second)
	require.False(t, c.round(false), "active, and without a value")
	for range 5 {
		c.pass(30 * time.Second)
		c.poll(map[string]float64{"a": 7})
		c.pass(2 * time.Second)
	}
	require.Len(t, c.decided, 6)
	require.Len(t, c.gets["b"], 6, "once an interval")
	c.pass(28 * time.Second)
	c.poll(map[string]float64{"a": 8, "b": 9})
	c.pass(3 * time.Second)
	require.Equal(t, []float64{8, 9}, c.values(), "right from the first poll on")
}

// If nothing can be read, there is a decision an interval, and KEDA's new verdict ends the wait.
func TestAllFailed(t *testing.T) {
	c := newClock(t, 30*time.Second, "a")
	c.fail("a")
	c.pass(time.Hour)
	require.Len(t, c.decided, 121)
	require.Len(t, c.gets["a"], 121, "however long it lasts")
	c.pass(10 * time.Second)
	require.False(t, c.round(true), "another verdict, and still no value")
	c.pass(20 * time.Second)
	require.Len(t, c.decided, 122, "an interval after the last")
	c.pass(10 * time.Second)
	c.poll(map[string]float64{"a": 2})
	require.True(t, c.round(true))
	require.Equal(t, []float64{2}, c.values())
}

func TestStale(t *testing.T) {
	for interval, stale := range map[time.Duration]time.Duration{5 * time.Second: 2 * time.Minute, time.Minute: 3 * time.Minute} {
		c := newClock(t, interval, "a")
		c.poll(map[string]float64{"a": 3})
		c.pass(stale - time.Second)
		require.Len(t, c.decided, 1, "never twice on one reading")
		c.pass(interval + time.Second)
		require.Equal(t, Stale, c.pace.all[0].reason)
		require.Equal(t, []float64{-1}, c.values())
		n := len(c.gets["a"])
		c.pass(10 * interval)
		require.LessOrEqual(t, len(c.gets["a"])-n, 11, "one GET an interval")
		c.poll(map[string]float64{"a": 4})
		c.pass(interval + time.Second)
		require.Equal(t, []float64{4}, c.values())
	}
}

func TestCron(t *testing.T) {
	c := newClock(t, 10*time.Second, "cron")
	c.pass(25 * time.Second)
	require.Len(t, c.decided, 3, "each interval")
	require.Equal(t, scaling.Inactive, c.pace.metrics()[0].Activity)
	c.polls["cron"] = sample{value: 4}
	c.pass(10 * time.Second)
	require.Equal(t, scaling.Metric{Name: "cron", Value: 4, Target: 5, Activity: scaling.Active}, c.pace.metrics()[0])

	c = newClock(t, 10*time.Second, "a", "cron")
	c.poll(map[string]float64{"a": 1})
	c.pass(9 * time.Second)
	require.Len(t, c.decided, 1)
	require.Len(t, c.gets["cron"], 1, "with the others")
}

// KEDA that polls more slowly than asked is noticed, and not asked every second.
func TestSlow(t *testing.T) {
	c := newClock(t, 5*time.Second, "a")
	for i := range 6 {
		c.poll(map[string]float64{"a": 1})
		c.pass(30 * time.Second)
		require.Equal(t, i >= slowPolls, c.pace.slow() > 0, i)
	}
	require.Len(t, c.decided, 6)
	require.Less(t, len(c.gets["a"]), 100)
	for range 2 {
		c.poll(map[string]float64{"a": 1})
		c.pass(5500 * time.Millisecond)
	}
	require.Zero(t, c.pace.slow())
}

// Five reads in a row without an answer of KEDA are suspicious. A trigger that fails is an answer.
func TestSuspicion(t *testing.T) {
	h, now := health{}, time.Unix(1000, 0)
	for _, answer := range []Reason{TriggerFailed, Stale, ""} {
		for range suspicious - 1 {
			require.False(t, h.note(now, KEDAUnavailable))
		}
		require.False(t, h.note(now, answer))
	}
	for i := range suspicious {
		require.Equal(t, i == suspicious-1, h.note(now, KEDAUnavailable))
	}
	h.result(now, KEDAUnavailable)
	require.Zero(t, h.failures)
}

// Whatever KEDA does, each of its polls is decided on at most once, and in time.
func TestPaceProperty(t *testing.T) {
	complete := 0
	rapid.Check(t, func(r *rapid.T) {
		interval := time.Duration(rapid.IntRange(1, 40).Draw(r, "interval")) * time.Second
		c := newClock(t, interval, "a", "b")
		polls := 0
		for range rapid.IntRange(1, 12).Draw(r, "polls") {
			failed := rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(r, "failed")
			c.poll(map[string]float64{"a": 1, "b": 2})
			if failed != "" {
				c.fail(failed)
			}
			polls++
			before := len(c.decided)
			c.pass(interval + time.Duration(rapid.IntRange(1000, 3000).Draw(r, "late"))*time.Millisecond)
			require.LessOrEqual(t, len(c.decided), before+1)
			if rapid.Bool().Draw(r, "hurry") && c.round(true) {
				require.Equal(t, before, len(c.decided)-1)
			}
			if len(c.decided) > before {
				complete++
			}
		}
		require.LessOrEqual(t, len(c.decided), polls)
		require.GreaterOrEqual(t, 2*len(c.decided), polls)
	})
	require.Greater(t, complete, 50)
}

// A metric has the name of its trigger, and KEDA's own if the trigger has several or its position is unknown.
func TestSeries(t *testing.T) {
	owner := &tracked{owner: owner("orders", manifest.ScaleTrigger{Type: "redis", Name: "jobs"}, manifest.ScaleTrigger{Type: "cron"})}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	for _, name := range []string{"s0-redis", "s0-redis-dead", "s1-cron", "s2-other", "cpu"} {
		target := autoscalingv2.MetricTarget{AverageValue: resource.NewQuantity(5, resource.DecimalSI)}
		metric := autoscalingv2.MetricIdentifier{Name: name}
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{External: &autoscalingv2.ExternalMetricSource{Metric: metric, Target: target}})
	}
	hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{}, autoscalingv2.MetricSpec{External: &autoscalingv2.ExternalMetricSource{}})
	var names []string
	for _, s := range owner.seriesOf(hpa) {
		names = append(names, s.trigger)
		require.Equal(t, s.name == "s1-cron", s.cron)
	}
	require.Equal(t, []string{"jobs", "s0-redis-dead", "cron", "s2-other", "cpu"}, names)
}
