package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/keda"
)

// A line is all that a line may say; [Help] has the meaning.
type line struct {
	ID      json.RawMessage `json:"id"`
	Kind    string          `json:"kind"`
	As      string          `json:"as"`
	Comment json.RawMessage `json:"comment"`

	Scalers                           []scaler `json:"scalers"`
	Calculation                       string   `json:"calculation"`
	MultipleScalersCalculation        string   `json:"multipleScalersCalculation"`
	MinReplicaCount                   *int32   `json:"minReplicaCount"`
	MaxReplicaCount                   *int32   `json:"maxReplicaCount"`
	Strategy                          string   `json:"strategy"`
	CustomScalingQueueLengthDeduction *int32   `json:"customScalingQueueLengthDeduction"`
	CustomScalingRunningJobPercentage decimal  `json:"customScalingRunningJobPercentage"`
	Running                           int64    `json:"running"`
	Pending                           int64    `json:"pending"`
	JobsUnknown                       bool     `json:"jobsUnknown"`
	Paused                            bool     `json:"paused"`

	Terminating int64  `json:"terminating"`
	Suspended   int64  `json:"suspended"`
	Stuck       int64  `json:"stuck"`
	InFlight    int64  `json:"inFlight"`
	Min         string `json:"min"`
	Accurate    string `json:"accurate"`

	Jobs                       []job    `json:"jobs"`
	SuccessfulJobsHistoryLimit *int32   `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32   `json:"failedJobsHistoryLimit"`
	PendingPodConditions       []string `json:"pendingPodConditions"`
	Pods                       []pod    `json:"pods"`
	JobFinished                bool     `json:"jobFinished"`
	RolloutStrategy            string   `json:"rolloutStrategy"`
	FlatStrategy               string   `json:"rollout.strategy"`
	FlatPropagation            string   `json:"rollout.propagationPolicy"`
	Rollout                    struct {
		Strategy          string `json:"strategy"`
		PropagationPolicy string `json:"propagationPolicy"`
	} `json:"rollout"`

	MaxScale      int64             `json:"maxScale"`
	ScaleTo       int64             `json:"scaleTo"`
	AverageValues []number          `json:"averageValues"`
	Annotation    *string           `json:"annotation"`
	Name          string            `json:"name"`
	Namespace     string            `json:"namespace"`
	Generation    int64             `json:"generation"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	RestartPolicy string            `json:"restartPolicy"`
	Build         string            `json:"build"`
}

type scaler struct {
	QueueLength      number   `json:"queueLength"`
	Target           number   `json:"target"`
	MaxValue         *number  `json:"maxValue"`
	IsActive         *bool    `json:"isActive"`
	Active           *bool    `json:"active"`
	ActivationTarget number   `json:"activationTarget"`
	Failed           failure  `json:"failed"`
	Error            failure  `json:"error"`
	Metrics          []metric `json:"metrics"`
}

type metric struct {
	Name         string  `json:"name"`
	Value        number  `json:"value"`
	AverageValue number  `json:"averageValue"`
	IsActive     bool    `json:"isActive"`
	Error        failure `json:"error"`
	Resource     bool    `json:"resource"`
}

// active is nil where the line does not say.
func (s *scaler) active() *bool {
	if s.IsActive != nil {
		return s.IsActive
	}
	return s.Active
}

func (s *scaler) failed() bool { return bool(s.Failed || s.Error) }

type job struct {
	Name                      string            `json:"name"`
	CreationTimestamp         time.Time         `json:"creationTimestamp"`
	DeletionTimestamp         *time.Time        `json:"deletionTimestamp"`
	CompletionTime            *time.Time        `json:"completionTime"`
	Suspend                   bool              `json:"suspend"`
	Annotations               map[string]string `json:"annotations"`
	Conditions                []condition       `json:"conditions"`
	Pods                      []pod             `json:"pods"`
	Finished                  bool              `json:"finished"`
	Condition                 string            `json:"condition"`
	GenerationAnnotation      *string           `json:"generationAnnotation"`
	FailedConditionTransition time.Time         `json:"failedConditionTransition"`
}

// all are the conditions, the short forms of them included.
func (j *job) all() []condition {
	conditions := j.Conditions
	if j.Condition != "" {
		c := condition{Type: j.Condition, Status: "True"}
		if j.Condition == "Failed" {
			c.LastTransitionTime = j.FailedConditionTransition
		}
		conditions = append(conditions, c)
	}
	if j.Finished {
		conditions = append(conditions, condition{Type: "Complete", Status: "True"})
	}
	return conditions
}

func (j *job) annotations() map[string]string {
	if j.GenerationAnnotation == nil {
		return j.Annotations
	}
	all := map[string]string{generationAnnotation: *j.GenerationAnnotation}
	for k, v := range j.Annotations {
		all[k] = v
	}
	return all
}

const generationAnnotation = "scaledjob.keda.sh/generation"

type pod struct {
	Phase          string      `json:"phase"`
	Conditions     []condition `json:"conditions"`
	TrueConditions []string    `json:"trueConditions"`
}

func (p *pod) all() []condition {
	conditions := p.Conditions
	for _, name := range p.TrueConditions {
		conditions = append(conditions, condition{Type: name, Status: "True"})
	}
	return conditions
}

// jobs are those of the line, or the single one whose pods are at its top.
func (l *line) jobs() []job {
	if l.Jobs == nil && (l.Pods != nil || l.JobFinished) {
		return []job{{Pods: l.Pods, Finished: l.JobFinished}}
	}
	return l.Jobs
}

func (l *line) calculation() string {
	if l.Calculation != "" {
		return l.Calculation
	}
	return l.MultipleScalersCalculation
}

// rollout is what the manifest says under spec.rollout.
func (l *line) rollout() keda.RolloutSpec {
	r := keda.RolloutSpec{Strategy: l.FlatStrategy, PropagationPolicy: l.FlatPropagation}
	if r.Strategy == "" {
		r.Strategy = l.Rollout.Strategy
	}
	if r.PropagationPolicy == "" {
		r.PropagationPolicy = l.Rollout.PropagationPolicy
	}
	return r
}

// A condition is an object, or its type alone where it is true.
type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

func (c *condition) UnmarshalJSON(data []byte) error {
	type object condition
	c.Status = "True"
	if data[0] == '"' {
		return json.Unmarshal(data, &c.Type)
	}
	return json.Unmarshal(data, (*object)(c))
}

// A number may be one that JSON has not.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	if data[0] == '"' {
		switch text {
		case "NaN", "Inf", "+Inf", "-Inf":
		default:
			return mistaken[number](data)
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return mistaken[number](data)
	}
	*n = number(x)
	return nil
}

func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Appendf(nil, "%q", fmt.Sprintf("%+v", x)), nil
	}
	return json.Marshal(float64(n))
}

// A decimal is a string; a plain number is one too.
type decimal string

func (d *decimal) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(d))
	}
	if string(data) != "null" {
		var n json.Number
		if err := json.Unmarshal(data, &n); err != nil {
			return mistaken[decimal](data)
		}
		*d = decimal(n)
	}
	return nil
}

// A failure is true, or a text that says what it is.
type failure bool

func (f *failure) UnmarshalJSON(data []byte) error {
	switch text := string(data); {
	case text == "true" || data[0] == '"':
		*f = failure(text != `""`)
	case text != "false" && text != "null":
		return mistaken[failure](data)
	}
	return nil
}

// parse reads a line. Without an error it says all that the line does.
func parse(data []byte) (*line, error) {
	l, err := decode(data)
	if err != nil {
		return again(data, err)
	}
	return l, nil
}

// again reads a line that has failed, with its whole numbers written as integers if
// that is why.
func again(data []byte, err error) (*line, error) {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && strings.HasPrefix(kind.Value, "number ") {
		if whole, ok := wholes(data); ok {
			l, err := decode(whole)
			if err == nil {
				return l, nil
			}
			return nil, readable(err, data)
		}
	}
	return nil, readable(err, data)
}

var errBehind = errors.New("there is something behind the object: want one object a line")

func decode(data []byte) (*line, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	l := &line{}
	if err := d.Decode(l); err != nil {
		return nil, err
	}
	if d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, errBehind
	}
	return l, nil
}

// idOf finds the id of a line that could not be read, as far as it can.
func idOf(data []byte) json.RawMessage {
	var l struct{ ID json.RawMessage }
	if json.NewDecoder(bytes.NewReader(data)).Decode(&l) != nil || l.ID == nil {
		return json.RawMessage("null")
	}
	return l.ID
}
