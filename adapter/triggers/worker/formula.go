package main

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// evaluate compiles and runs a formula as KEDA does. Nothing ends a formula that loops but the end
// of this process.
func evaluate(f *wire.Formula) (result wire.Result) {
	defer func() {
		if p := recover(); p != nil {
			result = wire.Result{Error: fmt.Sprintf("the formula panicked: %v", p)}
		}
	}()
	object := &kedav1alpha1.ScaledObject{}
	object.Spec.Advanced = &kedav1alpha1.AdvancedConfig{ScalingModifiers: kedav1alpha1.ScalingModifiers{Formula: f.Text, Target: "1"}}
	values := make(map[string]any, len(f.Values))
	for name, value := range f.Values {
		object.Spec.Triggers = append(object.Spec.Triggers, kedav1alpha1.ScaleTriggers{Name: name})
		if values[name] = nil; value != nil {
			values[name] = *value
		}
	}
	program, err := kedav1alpha1.ValidateAndCompileScalingModifiers(object)
	if err != nil {
		return wire.Result{Error: err.Error()}
	}
	switch value, err := expr.Run(program, values); value := value.(type) {
	case nil:
		if err != nil {
			return wire.Result{Error: err.Error()}
		}
		return wire.Result{None: true}
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return wire.Result{Error: fmt.Sprintf("the formula is %v; use a finite number", value)}
		}
		return wire.Result{Value: value}
	default:
		return wire.Result{Error: fmt.Sprintf("the formula is a %T; use a number", value)}
	}
}
