// Package readingtest reads triggers without KEDA.
package readingtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/scaling"
)

// noFormula evaluates no formula.
type noFormula struct{}

// Formula returns an error.
func (noFormula) Formula(context.Context, triggers.Owner, string, map[string]*float64) (*float64, error) {
	return nil, errors.New("formulas need a worker")
}

// ConfigMaps reads triggers of type kubernetes-resource from the ConfigMaps that they name.
type ConfigMaps struct {
	noFormula
	Client kubernetes.Interface
}

// Read reads all triggers within 10 s.
func (c ConfigMaps) Read(ctx context.Context, o triggers.Owner) ([]scaling.Metric, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	metrics, problems := make([]scaling.Metric, len(o.Triggers)), make([]error, len(o.Triggers))
	var reads sync.WaitGroup
	for i, name := range manifest.TriggerNames(o.Triggers) {
		reads.Go(func() {
			metrics[i] = scaling.Metric{Name: name, Failed: true}
			value, target, err := c.length(ctx, o, o.Triggers[i].Metadata)
			if err != nil {
				problems[i] = fmt.Errorf("trigger %s: %w", name, err)
				return
			}
			metrics[i] = scaling.Metric{Name: name, Value: value, Target: target}
		})
	}
	reads.Wait()
	return metrics, errors.Join(problems...)
}

func (c ConfigMaps) length(ctx context.Context, o triggers.Owner, metadata map[string]string) (value, target float64, err error) {
	m, err := c.Client.CoreV1().ConfigMaps(o.Namespace).Get(ctx, metadata["resourceName"], metav1.GetOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("ConfigMap %s/%s: %w", o.Namespace, metadata["resourceName"], err)
	}
	if value, err = strconv.ParseFloat(m.Data[metadata["key"]], 64); err == nil {
		target, err = strconv.ParseFloat(metadata["targetValue"], 64)
	}
	return value, target, err
}

// Forget does nothing.
func (ConfigMaps) Forget(types.UID) {}

// Constant reads the same number from each trigger, for a target of 1.
type Constant float64

// Read returns the number.
func (c Constant) Read(_ context.Context, o triggers.Owner) (all []scaling.Metric, _ error) {
	for _, name := range manifest.TriggerNames(o.Triggers) {
		all = append(all, scaling.Metric{Name: name, Value: float64(c), Target: 1})
	}
	return all, nil
}

// Formula returns an error.
func (Constant) Formula(ctx context.Context, o triggers.Owner, text string, values map[string]*float64) (*float64, error) {
	return noFormula{}.Formula(ctx, o, text, values)
}

// Forget does nothing.
func (Constant) Forget(types.UID) {}
