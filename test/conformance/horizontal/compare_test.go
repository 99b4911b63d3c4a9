package horizontal

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/test/recording"
)

var (
	wanted = flag.Int("polls", 10_000, "polls to compare")
	seed   = flag.Uint64("seed", 1, "seed of the first sequence")
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	runtime.ErrorHandlers = nil // they sleep by a clock that all sequences share
	klog.SetOutput(io.Discard)
	flag.Parse()
	os.Exit(m.Run())
}

// TestController plays random sequences of 5 to 60 polls against the controller of
// Kubernetes. After each poll the written count and the reasons of the conditions must be
// those of horizontal.Decide. The rules, limits and windows that the decisions
// reached are counted; each must be among them.
func TestController(t *testing.T) {
	reached := map[string]int{}
	polls := 0
	for s := *seed; polls < *wanted; s++ {
		synctest.Test(t, func(t *testing.T) {
			g := &sequence{t: t, r: rand.New(rand.NewPCG(s, 0)), seed: s, reached: reached, limit: 60}
			polls += g.play()
		})
		require.False(t, t.Failed(), "sequence %d", s)
	}
	keys := slices.Sorted(maps.Keys(reached))
	t.Logf("%d polls, 0 different", polls)
	for _, k := range keys {
		t.Logf("%6d %s", reached[k], k)
	}
	for _, must := range []string{
		"decided by ScalingDisabled", "decided by AboveMax", "decided by BelowMin", "decided by Unreadable", "decided by Metrics", "decided by Stabilized", "decided by Limited", "decided by Max", "decided by Min",
		"up by Pods", "up by Percent", "down by Pods", "down by Percent", "select Disabled", "select Min",
		"reason FailedGetExternalMetric", "reason FailedGetObjectMetric", "reason FailedGetPodsMetric", "reason FailedGetResourceMetric", "half a behavior",
		"reason ScaleUpStabilized", "reason ScaleDownStabilized", "reason ScaleUpLimit", "reason ScaleDownLimit",
		"restart", "edit", "one tolerance", "large numbers",
	} {
		assert.Positive(t, reached[must], must)
	}
	assert.Equal(t, scaleToZero, reached["from zero"] > 0 && reached["to zero"] > 0)
}

// TestRecording plays short sequences, and compares them with those of testdata, which the tests of package
// horizontal replay.
func TestRecording(t *testing.T) {
	if !scaleToZero {
		t.Skip("the newest Kubernetes is recorded")
	}
	var sequences []recording.HorizontalSequence
	for s := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			g := &sequence{t: t, r: rand.New(rand.NewPCG(s, 1)), seed: s, reached: map[string]int{}, limit: 12}
			g.play()
			sequences = append(sequences, g.recorded)
		})
	}
	require.NoError(t, recording.Check("horizontal", sequences))
}

// A sequence is a series of polls.
type sequence struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	reached map[string]int

	flags      flags
	interval   time.Duration
	hpa        *autoscalingv2.HorizontalPodAutoscaler
	policy     horizontal.Policy
	checkpoint horizontal.Checkpoint
	cluster    *cluster
	pods       []*corev1.Pod
	limited    string // reason of the last condition ScalingLimited
	active     string // and of ScalingActive
	limit      int    // of the polls
	recorded   recording.HorizontalSequence
	next       time.Time // of the next poll
}

func (g *sequence) one(n int) bool { return g.r.IntN(n) == 0 }

func pick[T any](g *sequence, all ...T) T { return all[g.r.IntN(len(all))] }

func (g *sequence) play() int {
	g.flags = flags{downWindow: pick(g, 0, 30*time.Second, 5*time.Minute), initialization: 5 * time.Minute, readiness: 30 * time.Second, tolerance: pick(g, 0, 0.1)}
	g.interval = pick(g, time.Second, 15*time.Second, time.Minute)
	g.cluster = &cluster{replicas: int32(g.r.IntN(20))}
	g.hpa = &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: "1", ResourceVersion: "1"}}
	g.drawSpec()
	client := fake.NewClientset(g.hpa)
	g.change()
	n := 5 + g.r.IntN(g.limit-4)
	var c *controller
	for poll := range n {
		first := c == nil
		if first {
			c = prepare(client, g.cluster, g.interval, g.flags)
			g.fill(c.pods)
			g.next = time.Now()
			if !pollsAtOnce {
				g.next = g.next.Add(g.interval)
			}
		}
		g.recorded = append(g.recorded, recording.HorizontalPoll{Policy: g.policy, Started: first, Observation: g.observation(g.next)})
		want := g.decide(g.next)
		reads, writes := g.cluster.polls, g.cluster.writes
		if first {
			c.start()
		}
		if !first || !pollsAtOnce {
			time.Sleep(time.Until(g.next) + time.Millisecond)
		}
		g.next = g.next.Add(g.interval)
		synctest.Wait()
		if !assert.Equal(g.t, reads+1, g.cluster.polls, "reads of the scale in poll %d of %d, each %s, %+v", poll, g.seed, g.interval, g.reached) ||
			!g.same(client, want, g.cluster.writes > writes, poll) {
			c.stop()
			return poll
		}
		if g.one(3) {
			g.change()
			g.fill(c.pods)
		}
		if g.one(12) {
			g.reached["edit"]++
			g.drawSpec()
			current, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(g.t.Context(), "web", metav1.GetOptions{})
			require.NoError(g.t, err)
			current.Spec = g.hpa.Spec
			_, err = client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Update(g.t.Context(), current, metav1.UpdateOptions{})
			require.NoError(g.t, err)
			synctest.Wait()
		}
		if g.one(30) {
			g.reached["restart"]++
			c.stop()
			time.Sleep(time.Duration(g.r.IntN(90)) * time.Second)
			c, g.checkpoint = nil, horizontal.Checkpoint{ScaledToZero: g.checkpoint.ScaledToZero}
		}
	}
	if c != nil {
		c.stop()
	}
	return n
}

func (g *sequence) decide(now time.Time) horizontal.Decision {
	d := horizontal.Decide(g.policy, g.observation(now), g.checkpoint)
	g.checkpoint = d.Checkpoint
	if d.Replicas != d.Current {
		g.checkpoint = d.Written()
	}
	g.note(d)
	return d
}

// same reports whether the controller did as decided.
func (g *sequence) same(client *fake.Clientset, d horizontal.Decision, wrote bool, poll int) bool {
	hpa, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(g.t.Context(), "web", metav1.GetOptions{})
	require.NoError(g.t, err)
	reasons := map[string]string{}
	for _, c := range hpa.Status.Conditions {
		reasons[string(c.Type)] = c.Reason
	}
	at := fmt.Sprintf("sequence %d, poll %d: %s\npolicy %+v\ncheckpoint %+v\nconditions %v", g.seed, poll, d, g.policy, g.checkpoint, reasons)
	did := &g.recorded[poll]
	did.Replicas, did.Wrote, did.Reasons = g.cluster.replicas, wrote, reasons
	ok := assert.Equal(g.t, d.Replicas, did.Replicas, at)
	if !wrote {
		want := d.AbleToScale.Reason
		ok = assert.Equal(g.t, want, reasons["AbleToScale"], at) && ok
	}
	if d.ScalingLimited.Reason != "" {
		g.limited = d.ScalingLimited.Reason
	}
	ok = assert.Equal(g.t, g.limited, reasons["ScalingLimited"], at) && ok
	if d.ScalingActive.Reason != "" {
		g.active = d.ScalingActive.Reason
	}
	ok = assert.Equal(g.t, g.active, reasons["ScalingActive"], at) && ok
	// The status of the workload follows the writes, mostly.
	if !g.one(10) {
		g.cluster.status = g.cluster.replicas
	}
	return ok
}

func (g *sequence) note(d horizontal.Decision) {
	g.reached["decided by "+string(d.Reason)]++
	g.reached["reason "+d.ScalingActive.Reason]++
	g.reached["reason "+d.ScalingLimited.Reason]++
	g.reached["reason "+d.AbleToScale.Reason]++
	if d.Current == 0 && d.Replicas > 0 {
		g.reached["from zero"]++
	}
	if d.Current > 0 && d.Replicas == 0 {
		g.reached["to zero"]++
	}
	b := g.policy.Behavior
	if b == nil || d.Reason != horizontal.ReasonLimited {
		return
	}
	rules, way := b.Up, "up"
	if d.Stabilized < d.Current {
		rules, way = b.Down, "down"
	}
	if rules.Tolerance != nil {
		g.reached["one tolerance"]++
	}
	g.reached["select "+rules.SelectPolicy]++
	if rules.SelectPolicy != horizontal.Disabled {
		for _, l := range rules.Policies {
			g.reached[way+" by "+l.Type]++
		}
	}
}

// drawSpec draws the spec of the autoscaler, with the defaults of the API server, and the
// same policy.
func (g *sequence) drawSpec() {
	spec := autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		MaxReplicas:    1 + int32(g.r.IntN(30)),
	}
	for i := range 1 + g.r.IntN(3) {
		spec.Metrics = append(spec.Metrics, g.drawMetric(i))
	}
	least := int32(1 + g.r.IntN(int(spec.MaxReplicas)))
	if g.one(2) {
		least = 1
	}
	total := slices.ContainsFunc(spec.Metrics, func(m autoscalingv2.MetricSpec) bool { return m.External != nil || m.Object != nil })
	if scaleToZero && total && g.one(3) {
		least = 0
	}
	spec.MinReplicas = &least
	if g.one(2) {
		spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: g.drawRules(), ScaleDown: g.drawRules()}
	}
	g.hpa.Spec = spec
	drawn := spec.Behavior.DeepCopy() // Decide has the defaults of its own
	defaults.SetObjectDefaults_HorizontalPodAutoscaler(g.hpa)
	g.policy = horizontal.Policy{
		Min: least, Max: spec.MaxReplicas, Tolerance: g.flags.tolerance, DownWindow: g.flags.downWindow,
		CPUInitialization: g.flags.initialization, ReadinessDelay: g.flags.readiness, ScaleToZeroGate: scaleToZero,
	}
	if drawn != nil {
		if drawn.ScaleUp == nil || drawn.ScaleDown == nil {
			g.reached["half a behavior"]++
		}
		g.policy.Behavior = &horizontal.Behavior{Up: g.rules(drawn.ScaleUp), Down: g.rules(drawn.ScaleDown)}
	}
}

func (g *sequence) drawRules() *autoscalingv2.HPAScalingRules {
	if g.one(5) {
		return nil
	}
	var rules autoscalingv2.HPAScalingRules
	if !g.one(4) {
		seconds := pick[int32](g, 0, 15, 60, 300)
		rules.StabilizationWindowSeconds = &seconds
	}
	if !g.one(3) {
		choice := pick(g, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect)
		rules.SelectPolicy = &choice
	}
	if !g.one(4) {
		for range 1 + g.r.IntN(3) {
			value := int32(1 + g.r.IntN(10))
			kind := pick(g, autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy)
			if kind == autoscalingv2.PercentScalingPolicy {
				value *= 15
			}
			if g.one(50) {
				value = math.MaxInt32
			}
			rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{Type: kind, Value: value, PeriodSeconds: pick[int32](g, 1, 15, 60, 90, 300)})
		}
	}
	if tolerances && g.one(3) {
		q := resource.MustParse(pick(g, "0", "50m", "400m"))
		rules.Tolerance = &q
	}
	return &rules
}

func (g *sequence) rules(r *autoscalingv2.HPAScalingRules) (rules horizontal.ScalingRules) {
	if r == nil {
		return rules
	}
	if r.SelectPolicy != nil {
		rules.SelectPolicy = string(*r.SelectPolicy)
	}
	if r.StabilizationWindowSeconds != nil {
		rules.Window = new(time.Duration(*r.StabilizationWindowSeconds) * time.Second)
	}
	for _, p := range r.Policies {
		rules.Policies = append(rules.Policies, horizontal.ScalingPolicy{Type: string(p.Type), Value: p.Value, Period: time.Duration(p.PeriodSeconds) * time.Second})
	}
	if r.Tolerance != nil {
		rules.Tolerance = new(r.Tolerance.AsApproximateFloat64())
	}
	return rules
}

func quantity(milli int64) *resource.Quantity {
	return resource.NewMilliQuantity(milli, resource.DecimalSI)
}

func (g *sequence) drawMetric(i int) autoscalingv2.MetricSpec {
	name := fmt.Sprint("m", i)
	amount := pick[int64](g, 300, 1000, 2500, 7000)
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity(amount)}
	if g.one(2) {
		target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: quantity(amount)}
	}
	id := autoscalingv2.MetricIdentifier{Name: name}
	switch g.r.IntN(6) {
	case 0:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{Metric: id, Target: target}}
	case 1:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{Metric: id,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity(amount)}}}
	case 2:
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity(amount)}
		if g.one(2) {
			percent := pick[int32](g, 50, 80, 150)
			target = autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}
		}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: pick(g, corev1.ResourceCPU, corev1.ResourceMemory), Target: target}}
	}
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{Metric: id, Target: target}}
}

// change draws the readings and the pods anew, and sometimes scales by hand.
func (g *sequence) change() {
	w := g.cluster
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.one(15) {
		w.replicas = int32(g.r.IntN(35))
	}
	if g.one(40) {
		w.replicas = 0
	}
	w.status = w.replicas
	if g.one(8) {
		w.status = int32(g.r.IntN(20))
	}
	g.drawPods()
	level := g.r.Float64() * g.r.Float64() * 25
	if g.one(6) {
		level = 0
	}
	w.total, w.samples = map[string][]int64{}, map[string]metrics.PodMetricsInfo{}
	for i := range 3 {
		if !g.one(12) {
			for range 1 + g.r.IntN(2) {
				w.total[fmt.Sprint("m", i)] = append(w.total[fmt.Sprint("m", i)], g.value(level*1000))
			}
		}
	}
	for _, name := range []string{"m0", "m1", "m2", "cpu", "memory"} {
		if g.one(12) {
			continue
		}
		read := metrics.PodMetricsInfo{}
		for _, pod := range g.pods {
			if !g.one(10) {
				read[pod.Name] = metrics.PodMetric{Value: g.value(level * 200), Timestamp: time.Now().Add(-time.Duration(g.r.IntN(60)) * time.Second), Window: 30 * time.Second}
			}
		}
		if g.one(10) {
			read["gone"] = metrics.PodMetric{Value: g.value(level * 200), Timestamp: time.Now(), Window: 30 * time.Second}
		}
		w.samples[name] = read
	}
}

func (g *sequence) value(around float64) int64 {
	switch g.r.IntN(200) {
	case 0:
		g.reached["large numbers"]++
		return math.MaxInt64 - int64(g.r.IntN(2))
	case 1:
		return -int64(g.r.IntN(5000))
	}
	return int64(around * (0.9 + g.r.Float64()/5)) // 0 if around is 0
}

func (g *sequence) drawPods() {
	g.pods = nil
	n := int(g.cluster.replicas)
	if g.one(5) {
		n = g.r.IntN(20)
	}
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Namespace: namespace, Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *quantity(1000), corev1.ResourceMemory: *quantity(int64(1+g.r.IntN(3)) * 1000)}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: time.Now().Add(-time.Hour)},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: time.Now().Add(-time.Hour)}}}},
		}
		switch g.r.IntN(30) {
		case 0:
			pod.Status.Phase = corev1.PodPending
		case 1:
			pod.Status.Phase = corev1.PodFailed
		case 2:
			pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		case 3, 4:
			started := time.Now().Add(-time.Duration(g.r.IntN(600)) * time.Second)
			pod.Status.StartTime.Time = started
			pod.Status.Conditions[0].LastTransitionTime.Time = started.Add(time.Duration(g.r.IntN(60)) * time.Second)
			pod.Status.Conditions[0].Status = pick(g, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
		case 5:
			pod.Status.Conditions = nil
		case 6:
			if g.one(5) {
				pod.Spec.Containers[0].Resources.Requests = nil
			}
		}
		g.pods = append(g.pods, pod)
	}
}

func (g *sequence) fill(store cache.Store) {
	var all []any
	for _, pod := range g.pods {
		all = append(all, pod)
	}
	require.NoError(g.t, store.Replace(all, ""))
}

// observation is the cluster in the words of package horizontal.
func (g *sequence) observation(now time.Time) horizontal.Observation {
	o := horizontal.Observation{Now: now, Replicas: g.cluster.replicas, StatusReplicas: g.cluster.status}
	for _, pod := range g.pods {
		p := horizontal.Pod{Phase: string(pod.Status.Phase), Deleting: pod.DeletionTimestamp != nil, Started: pod.Status.StartTime.Time}
		if len(pod.Status.Conditions) > 0 {
			p.Ready, p.ReadyChanged = string(pod.Status.Conditions[0].Status), pod.Status.Conditions[0].LastTransitionTime.Time
		}
		o.Pods = append(o.Pods, p)
	}
	o.Pods = append(o.Pods, horizontal.Pod{Phase: "Unlisted"})
	for _, spec := range g.hpa.Spec.Metrics {
		o.Metrics = append(o.Metrics, g.metric(spec))
	}
	return o
}

func (g *sequence) metric(spec autoscalingv2.MetricSpec) horizontal.Metric {
	m := horizontal.Metric{Source: string(spec.Type)}
	name, target, perPod := "", autoscalingv2.MetricTarget{}, true
	switch {
	case spec.External != nil:
		name, target, perPod = spec.External.Metric.Name, spec.External.Target, false
	case spec.Object != nil:
		name, target, perPod = spec.Object.Metric.Name, spec.Object.Target, false
	case spec.Pods != nil:
		name, target = spec.Pods.Metric.Name, spec.Pods.Target
	default:
		name, target = string(spec.Resource.Name), spec.Resource.Target
		m.CPU = spec.Resource.Name == corev1.ResourceCPU
	}
	m.Name, m.TargetType = name, string(target.Type)
	switch {
	case target.AverageValue != nil:
		m.Target = target.AverageValue.MilliValue()
	case target.Value != nil:
		m.Target = target.Value.MilliValue()
	default:
		m.Target = int64(*target.AverageUtilization)
	}
	values, ok := g.cluster.total[name]
	if perPod {
		_, ok = g.cluster.samples[name]
	}
	if !ok {
		m.Unreadable = "unreadable"
	}
	if !perPod {
		m.Values = values
		return m
	}
	read := g.cluster.samples[name]
	for _, pod := range g.pods {
		sample, known := read[pod.Name]
		request, asks := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)]
		m.Samples = append(m.Samples, horizontal.Sample{Known: known, Value: sample.Value, Request: request.MilliValue(), RequestKnown: asks, At: sample.Timestamp, Window: sample.Window})
	}
	gone, known := read["gone"]
	m.Samples = append(m.Samples, horizontal.Sample{Known: known, Value: gone.Value})
	return m
}
