package api

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/scaling"
)

// AdvancedConfig configures the autoscaler.
type AdvancedConfig struct {
	HorizontalPodAutoscalerConfig AutoscalerConfig `json:"horizontalPodAutoscalerConfig,omitzero"`
	RestoreToOriginalReplicaCount bool             `json:"restoreToOriginalReplicaCount,omitempty"`
	ScalingModifiers              ScalingModifiers `json:"scalingModifiers,omitzero"`
}

// AutoscalerConfig holds the behavior of the autoscaler. A name is rejected.
type AutoscalerConfig struct {
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
	Name     string                                         `json:"name,omitempty"`
}

// ScalingModifiers combine the triggers to a single metric.
type ScalingModifiers struct {
	Formula          string `json:"formula,omitempty"`
	Target           string `json:"target,omitempty"`
	ActivationTarget string `json:"activationTarget,omitempty"`
	MetricType       string `json:"metricType,omitempty"` // AverageValue if unset
}

// Fallback replaces triggers that cannot be read.
type Fallback struct {
	FailureThreshold int32  `json:"failureThreshold"`
	Replicas         int32  `json:"replicas"`
	Behavior         string `json:"behavior,omitempty"` // static if unset
}

// scaling returns the policy of the number of replicas of all clusters.
func (d *DistributedScaledObject) scaling(problems *field.Errors) scaledobject.Policy {
	spec := &d.Spec.ScaledObjectSpec
	p := scaledobject.DefaultPolicy()
	number(&p.Min, spec.MinReplicaCount)
	number(&p.Max, spec.MaxReplicaCount)
	p.Idle, p.Created = spec.IdleReplicaCount, d.CreationTimestamp.Time
	seconds(&p.Cooldown, spec.CooldownPeriod)
	seconds(&p.InitialCooldown, spec.InitialCooldownPeriod)
	if f := spec.Fallback; f != nil {
		p.Fallback = &scaledobject.Fallback{FailureThreshold: f.FailureThreshold, Replicas: f.Replicas, Behavior: f.Behavior}
	}
	if b := spec.Advanced.HorizontalPodAutoscalerConfig.Behavior; b != nil {
		all := horizontal.DefaultBehavior()
		rules(&all.Up, b.ScaleUp)
		rules(&all.Down, b.ScaleDown)
		p.Autoscaler.Behavior = &all
	}
	p.Modifiers = spec.modifiers(problems)
	problems.Join("", p.Annotate(d.Annotations))
	for _, e := range field.All(scaledobject.Validate(p)) {
		if e.Path != "Min" && e.Path != "Max" { // as replicas.Policy has them
			problems.Add(field.Error{Path: objectField + "." + scalingPaths.Replace(e.Path), Found: e.Found, Fix: e.Fix})
		}
	}
	return p
}

// scalingPaths maps fields of the policy to fields of a ScaledObject.
var scalingPaths = strings.NewReplacer(
	"InitialCooldown", "initialCooldownPeriod", "Cooldown", "cooldownPeriod", "Idle", "idleReplicaCount",
	"Fallback.Behavior", "fallback.behavior", "Fallback", "fallback", "FailureThreshold", "failureThreshold", "Replicas", "replicas",
	"Modifiers.Type", "advanced.scalingModifiers.metricType", "Modifiers", "advanced.scalingModifiers", ".Target", ".target", "Autoscaler.Behavior.", behaviorField+".",
	"Up.", "scaleUp.", "Down.", "scaleDown.", "Window", "stabilizationWindowSeconds", "Select", "selectPolicy",
	"Policies", "policies", ".Type", ".type", ".Value", ".value", "Period", "periodSeconds", "Tolerance", "tolerance",
)

const behaviorField = "advanced.horizontalPodAutoscalerConfig.behavior"

func seconds(d *time.Duration, n *int32) {
	if n != nil {
		*d = time.Duration(*n) * time.Second
	}
}

// rules replaces the defaults by the fields that are set.
func rules(r *horizontal.Rules, in *autoscalingv2.HPAScalingRules) {
	if in == nil {
		return
	}
	seconds(&r.Window, in.StabilizationWindowSeconds)
	if in.SelectPolicy != nil {
		r.Select = string(*in.SelectPolicy)
	}
	if in.Tolerance != nil {
		r.Tolerance = new(in.Tolerance.AsApproximateFloat64())
	}
	if in.Policies == nil {
		return
	}
	r.Policies = nil
	for _, l := range in.Policies {
		r.Policies = append(r.Policies, horizontal.Limit{Type: string(l.Type), Value: l.Value, Period: time.Duration(l.PeriodSeconds) * time.Second})
	}
}

// modifiers returns the formula without its function, which evaluates a tenant's code.
func (s *ScaledObjectSpec) modifiers(problems *field.Errors) *scaledobject.Modifiers {
	in := s.Advanced.ScalingModifiers
	if in == (ScalingModifiers{}) {
		return nil
	}
	const path = objectField + ".advanced.scalingModifiers."
	problems.Check(in.Formula != "", path+"formula", nil, "an expression over the names of the triggers")
	m := &scaledobject.Modifiers{Type: in.MetricType, Formula: func(map[string]*float64) (*float64, error) { return nil, nil }}
	var err error
	m.Target, _ = strconv.ParseFloat(in.Target, 64) // its problem is found by Validate
	if in.ActivationTarget != "" {
		m.Activation, err = strconv.ParseFloat(in.ActivationTarget, 64)
		problems.Check(err == nil && !math.IsNaN(m.Activation), path+"activationTarget", in.ActivationTarget, "a number in quotes")
	}
	names := map[string]bool{}
	for i, t := range s.Triggers {
		at := fmt.Sprintf("%s.triggers[%d].name", objectField, i)
		problems.Check(t.Name != "", at, nil, "a name, with which the formula refers to the trigger")
		problems.Check(t.Name == "" || !names[t.Name], at, t.Name, "a name that no other trigger has")
		names[t.Name] = true
	}
	return m
}

// check returns the fields that cannot have a meaning across clusters, and invalid fields.
func (s *ScaledObjectSpec) check(problems *field.Errors) {
	if n := s.PollingInterval; n != nil {
		problems.Check(*n >= 1, objectField+".pollingInterval", *n, "1 or more (seconds)")
	}
	name := s.Advanced.HorizontalPodAutoscalerConfig.Name
	problems.Check(name == "", objectField+".advanced.horizontalPodAutoscalerConfig.name", name,
		"nothing: no HorizontalPodAutoscaler is created, on the hub or on a member")
	for i, t := range s.Triggers {
		path := fmt.Sprintf("%s.triggers[%d].", objectField, i)
		problems.Check(t.Type != "cpu" && t.Type != "memory", path+"type", t.Type,
			"a trigger with a value of its own, such as prometheus: the usage of pods on several clusters has no common source")
		problems.Check(t.MetricType == "" || t.MetricType == horizontal.AverageValue || t.MetricType == horizontal.Value,
			path+"metricType", t.MetricType, "AverageValue, which is the default, or Value")
	}
	kind := s.ScaleTargetRef.Kind
	problems.Check(s.ScaleTargetRef.EnvSourceContainerName == "" || kind == "" || kind == "Deployment" || kind == "StatefulSet",
		objectField+".scaleTargetRef.envSourceContainerName", s.ScaleTargetRef.EnvSourceContainerName,
		"nothing: only the containers of Deployments and StatefulSets can be read")
}

// given returns targets of triggers that only the reader of triggers knows, so that they
// are not missed here, and of triggers that are rejected already.
func (s *ScaledObjectSpec) given() map[string]float64 {
	targets := map[string]float64{}
	for i, name := range manifest.TriggerNames(s.Triggers) {
		if slices.Contains([]string{"external", "external-push", "cpu", "memory"}, s.Triggers[i].Type) {
			targets[name] = 1
		}
	}
	return targets
}

// Observe returns the triggers of a decision. metrics are the last readings, and fresh
// reports which triggers were read for this decision alone.
func (c *ObjectConfig) Observe(metrics []scaling.Metric, unread error, fresh map[string]bool) []scaledobject.Trigger {
	read := map[string]scaling.Metric{}
	for _, m := range metrics {
		read[m.Name] = m
	}
	all := make([]scaledobject.Trigger, len(c.Triggers))
	for i, t := range c.Triggers {
		m, found := read[t.Name]
		kind := horizontal.AverageValue
		if c.Source.Spec.Triggers[i].MetricType == horizontal.Value {
			kind = horizontal.Value
		}
		all[i] = scaledobject.Trigger{Name: t.Name, Active: m.Activity == scaling.Active || m.Activity == 0 && m.Value > m.ActivationThreshold, Fresh: fresh[t.Name],
			Metric: horizontal.Metric{Name: t.Name, Target: kind, Amount: milli(m.Target), Values: []int64{milli(m.Value)}}}
		if !found || m.Failed {
			all[i].Active = false
			all[i].Metric = horizontal.Metric{Name: t.Name, Target: kind, Amount: milli(t.Target), Unreadable: "the trigger could not be read"}
			if unread != nil && len(c.Triggers) == 1 {
				all[i].Metric.Unreadable = unread.Error()
			}
		}
	}
	return all
}

// milli converts to milli-units. KEDA's values have no more digits.
func milli(x float64) int64 {
	return int64(min(max(math.Round(x*1000), math.MinInt64/2), math.MaxInt64/2))
}

// Cached returns the positions of the triggers with useCachedMetrics: they are read each
// polling interval only.
func (c *ObjectConfig) Cached() map[int]bool {
	all := map[int]bool{}
	for i, t := range c.Source.Spec.Triggers {
		if t.UseCachedMetrics {
			all[i] = true
		}
	}
	return all
}
