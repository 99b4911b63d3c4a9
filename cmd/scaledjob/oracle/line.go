package oracle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A line holds the fields of a line; [Fields] documents them.
type line struct {
	ID      json.RawMessage `json:"id"`
	Kind    string          `json:"kind"`
	Release string          `json:"release"`
	Comment json.RawMessage `json:"comment"`

	Scalers                    []scaler `json:"scalers"`
	MultipleScalersCalculation string   `json:"multipleScalersCalculation"`
	MinReplicaCount            *int32   `json:"minReplicaCount"`
	MaxReplicaCount            *int32   `json:"maxReplicaCount"`
	Strategy                   string   `json:"strategy"`
	strategy.Parameters
	CustomScalingRunningJobPercentage decimal `json:"customScalingRunningJobPercentage"` // instead of the text in Parameters
	Running                           int64   `json:"running"`
	Pending                           int64   `json:"pending"`
	JobsUnknown                       bool    `json:"jobsUnknown"`
	Paused                            bool    `json:"paused"`

	Terminating int64  `json:"terminating"`
	Suspended   int64  `json:"suspended"`
	Stuck       *int64 `json:"stuck"`
	AgesUnknown bool   `json:"agesUnknown"`
	InFlight    int64  `json:"inFlight"`
	Min         string `json:"min"`
	Hold        bool   `json:"hold"`
	Accurate    string `json:"accurate"`

	Jobs                       []job            `json:"jobs"`
	SuccessfulJobsHistoryLimit *int32           `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32           `json:"failedJobsHistoryLimit"`
	Age                        *duration        `json:"age"`
	Now                        time.Time        `json:"now"`
	TemplateHash               string           `json:"templateHash"`
	EveryEdit                  *bool            `json:"everyEdit"`
	PendingPodConditions       []string         `json:"pendingPodConditions"`
	RolloutStrategy            string           `json:"rolloutStrategy"`
	Rollout                    keda.RolloutSpec `json:"rollout"`

	// Short forms: see expand.
	Pods            []pod  `json:"pods"`
	JobFinished     bool   `json:"jobFinished"`
	FlatStrategy    string `json:"rollout.strategy"`
	FlatPropagation string `json:"rollout.propagationPolicy"`

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

// activity returns the activity of the line. If the line has none, it is by the threshold,
// or for a scaler with several metrics, active if any of them is.
func (s *scaler) activity() scaling.Activity {
	switch {
	case s.IsActive == nil && s.Metrics == nil:
		return scaling.ByThreshold
	case s.IsActive != nil && *s.IsActive:
		return scaling.Active
	}
	return scaling.Inactive
}

// activity is the scaler's unless the metric is active.
func (m *metric) activity() scaling.Activity {
	if m.IsActive {
		return scaling.Active
	}
	return scaling.ByThreshold
}

func (s *scaler) failed() bool { return bool(s.Failed || s.Error) }

type job struct {
	Name                 string            `json:"name"`
	CreationTimestamp    time.Time         `json:"creationTimestamp"`
	DeletionTimestamp    *time.Time        `json:"deletionTimestamp"`
	CompletionTime       *time.Time        `json:"completionTime"`
	Suspend              bool              `json:"suspend"`
	Annotations          map[string]string `json:"annotations"`
	Conditions           []condition       `json:"conditions"`
	Pods                 []pod             `json:"pods"`
	GenerationAnnotation *string           `json:"generationAnnotation"`
	TemplateHash         string            `json:"templateHash"`

	Finished                  bool      `json:"finished"`
	Condition                 string    `json:"condition"`
	FailedConditionTransition time.Time `json:"failedConditionTransition"`
}

func (j *job) annotations() map[string]string {
	pairs := map[string]string{}
	if j.GenerationAnnotation != nil {
		pairs[generationAnnotation] = *j.GenerationAnnotation
	}
	if j.TemplateHash != "" {
		pairs[adapter.AnnotationTemplateHash] = j.TemplateHash
	}
	maps.Copy(pairs, j.Annotations)
	return pairs
}

const generationAnnotation = "scaledjob.keda.sh/generation"

type pod struct {
	Phase          string      `json:"phase"`
	Conditions     []condition `json:"conditions"`
	TrueConditions []string    `json:"trueConditions"`
}

// expand replaces the short forms that published vectors use.
func (l *line) expand() {
	l.Parameters.CustomScalingRunningJobPercentage = string(l.CustomScalingRunningJobPercentage)
	l.Rollout.Strategy = cmp.Or(l.FlatStrategy, l.Rollout.Strategy)
	l.Rollout.PropagationPolicy = cmp.Or(l.FlatPropagation, l.Rollout.PropagationPolicy)
	if l.Jobs == nil && (l.Pods != nil || l.JobFinished) {
		l.Jobs = []job{{Pods: l.Pods, Finished: l.JobFinished}}
	}
	for i := range l.Jobs {
		j := &l.Jobs[i]
		if c := (condition{Type: j.Condition}); c.Type != "" {
			if c.Type == "Failed" {
				c.LastTransitionTime = j.FailedConditionTransition
			}
			j.Conditions = append(j.Conditions, c)
		}
		if j.Finished {
			j.Conditions = append(j.Conditions, condition{Type: "Complete"})
		}
		for n := range j.Pods {
			for _, name := range j.Pods[n].TrueConditions {
				j.Pods[n].Conditions = append(j.Pods[n].Conditions, condition{Type: name})
			}
		}
	}
}

// A condition without a status is true.
type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

func (c *condition) status() string { return cmp.Or(c.Status, "True") }

// A number may be "NaN", "+Inf" or "-Inf".
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Appendf(nil, `"%+v"`, x), nil
	}
	return json.Marshal(float64(n))
}

// A duration is a text such as "1h30m".
type duration time.Duration

// A decimal is a text or a number.
type decimal string

// A failure is true, or a text that describes it.
type failure bool

// read reads a line. With problems, which are joined, it returns the fields that
// could be read.
func read(data []byte) (*line, error) {
	l, problems := &line{}, field.Errors{}
	unknown, wrong := field.Decoder{Root: "line", Unknown: instead}.Decode(data, l)
	if syntax, ok := errors.AsType[*json.SyntaxError](wrong); ok {
		problems.Add(notJSON(data, syntax))
		return l, problems.Err()
	}
	problems.Join("", unknown)
	problems.Join("", wrong)
	l.expand()
	return l, problems.Err()
}

func notJSON(data []byte, syntax *json.SyntaxError) field.Error {
	found := "the end of the line within its object"
	if !strings.HasPrefix(syntax.Error(), "unexpected end") {
		offset := min(max(int(syntax.Offset), 1), len(data))
		found = strconv.Quote(string(data[offset-1:offset])) + " as byte " + strconv.Itoa(offset) + ", which is not JSON"
	}
	return field.Error{Path: "line", Found: found, Fix: "one JSON object"}
}

// instead returns the known field that an unknown field may misspell.
func instead(path string, names []string) string {
	key := path[strings.LastIndex(path, ".")+1:]
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key) }); i >= 0 {
		return names[i]
	}
	return "a field that scaledjob oracle --fields lists"
}

var errType = errors.New("another type")

// UnmarshalJSON reads a number, or a text that names one that JSON does not have.
func (n *number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		text = strings.Trim(text, `"`)
		if !slices.Contains([]string{"NaN", "Inf", "+Inf", "-Inf"}, text) {
			return errType
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	*n = number(x)
	return err
}

// Wanted describes the values for an error.
func (*number) Wanted() string { return `a number, "NaN", "+Inf" or "-Inf"` }

// UnmarshalJSON reads a number or a text.
func (d *decimal) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(d))
	}
	if *d = decimal(data); data[0] != '-' && (data[0] < '0' || data[0] > '9') {
		return errType
	}
	return nil
}

// Wanted describes the values for an error.
func (*decimal) Wanted() string { return `a number, or one as a text, such as "0.5"` }

// UnmarshalJSON reads true, false or a text, of which "" is false.
func (f *failure) UnmarshalJSON(data []byte) error {
	text := string(data)
	*f = failure(text == "true" || (data[0] == '"' && text != `""`))
	if data[0] != '"' && text != "true" && text != "false" {
		return errType
	}
	return nil
}

// Wanted describes the values for an error.
func (*failure) Wanted() string { return "true, false, or a text" }

// UnmarshalText reads a duration.
func (d *duration) UnmarshalText(text []byte) error {
	age, err := time.ParseDuration(string(text))
	*d = duration(age)
	return err
}

// Wanted describes the values for an error.
func (*duration) Wanted() string { return `a duration, such as "1h30m"` }
