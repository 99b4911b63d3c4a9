package oracle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// A line holds the fields of a line; [Fields] documents them.
type line struct {
	ID      json.RawMessage `json:"id"`
	Kind    string          `json:"kind"`
	Release string          `json:"release"`
	Comment json.RawMessage `json:"comment"`

	Scalers         []scaler `json:"scalers"`
	MinReplicaCount *int32   `json:"minReplicaCount"`
	MaxReplicaCount *int32   `json:"maxReplicaCount"`
	keda.ScalingStrategy
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
	RolloutStrategy            string           `json:"rolloutStrategy"`
	Rollout                    keda.RolloutSpec `json:"rollout"`

	// Short forms: see expand.
	Pods            []pod  `json:"pods"`
	JobFinished     bool   `json:"jobFinished"`
	FlatStrategy    string `json:"rollout.strategy"`
	FlatPropagation string `json:"rollout.propagationPolicy"`

	MaxScale      int64             `json:"maxScale"`
	ScaleTo       int64             `json:"scaleTo"`
	AverageValues []Number          `json:"averageValues"`
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
	QueueLength      Number   `json:"queueLength"`
	Target           Number   `json:"target"`
	MaxValue         *Number  `json:"maxValue"`
	IsActive         *bool    `json:"isActive"`
	ActivationTarget Number   `json:"activationTarget"`
	Failed           failure  `json:"failed"`
	Error            failure  `json:"error"`
	Metrics          []metric `json:"metrics"`
}

type metric struct {
	Name         string  `json:"name"`
	Value        Number  `json:"value"`
	AverageValue Number  `json:"averageValue"`
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

type pod struct {
	Phase          string      `json:"phase"`
	Conditions     []condition `json:"conditions"`
	TrueConditions []string    `json:"trueConditions"`
}

// expand replaces the short forms that published vectors use, and returns a problem for each that differs
// from another form of its field.
func (l *line) expand() error {
	const strategy = `rollout {"strategy"}`
	var f forms
	l.Parameters.CustomScalingRunningJobPercentage = string(l.CustomScalingRunningJobPercentage)
	l.Rollout.Strategy = f.either("rollout.strategy", l.FlatStrategy, strategy, l.Rollout.Strategy)
	l.Rollout.PropagationPolicy = f.either("rollout.propagationPolicy", l.FlatPropagation, `rollout {"propagationPolicy"}`, l.Rollout.PropagationPolicy)
	if l.Kind == "rollout" {
		f.either("strategy", l.Strategy, strategy, l.Rollout.Strategy)
		f.either("strategy", l.Strategy, "rolloutStrategy", l.RolloutStrategy)
	}
	if l.Stuck != nil && l.AgesUnknown {
		f.Add(field.Error{Path: "stuck", Found: fmt.Sprintf("%d, while agesUnknown is true", *l.Stuck), Fix: "only one of the two"})
	}
	switch {
	case l.Annotation != nil:
		f.annotate(&l.Annotations, manifest.AnnotationPaused, "annotation", *l.Annotation)
		if pauses, err := strconv.ParseBool(*l.Annotation); l.Paused && err == nil && !pauses {
			f.Add(field.Error{Path: "annotation", Found: strconv.Quote(*l.Annotation) + ", while paused is true", Fix: "only annotation"})
		}
	case l.Paused:
		if pauses, _ := strconv.ParseBool(l.Annotations[manifest.AnnotationPaused]); !pauses {
			f.annotate(&l.Annotations, manifest.AnnotationPaused, "paused", "true")
		}
	}
	if l.Pods != nil || l.JobFinished {
		short := []job{{Pods: l.Pods, Finished: l.JobFinished}}
		if l.Jobs != nil && !reflect.DeepEqual(l.Jobs, short) {
			f.Add(field.Error{Path: "jobs", Found: "other Jobs than the one of pods and jobFinished", Fix: "only jobs"})
		}
		l.Jobs = short
	}
	for i := range l.Jobs {
		f.expand(fmt.Sprintf("jobs[%d].", i), &l.Jobs[i])
	}
	return f.Err()
}

// forms are the problems of fields with a short and a long form.
type forms struct{ field.Errors }

// either returns the value of a field with two forms; "" is none.
func (f *forms) either(short, value, long, other string) string {
	if value != "" && other != "" && value != other {
		f.Add(field.Error{Path: short, Found: fmt.Sprintf("%q, while %s is %q", value, long, other), Fix: "only " + long})
	}
	return cmp.Or(value, other)
}

func (f *forms) annotate(annotations *map[string]string, name, short, value string) {
	if *annotations == nil {
		*annotations = map[string]string{}
	}
	(*annotations)[name] = f.either(short, value, fmt.Sprintf("annotations {%q}", name), (*annotations)[name])
}

func (f *forms) expand(path string, j *job) {
	if j.GenerationAnnotation != nil {
		f.annotate(&j.Annotations, manifest.AnnotationGeneration, path+"generationAnnotation", *j.GenerationAnnotation)
	}
	if j.TemplateHash != "" {
		f.annotate(&j.Annotations, adapter.AnnotationTemplateHash, path+"templateHash", j.TemplateHash)
	}
	var short, finished []condition
	if j.Condition != "" {
		short = []condition{{Type: j.Condition, Status: "True"}}
	}
	if j.Condition == "Failed" {
		short[0].LastTransitionTime = j.FailedConditionTransition
	}
	if j.Finished {
		finished = []condition{{Type: "Complete", Status: "True"}}
	}
	j.Conditions = f.merge(path+"condition", j.Conditions, short)
	j.Conditions = f.merge(path+"finished", j.Conditions, finished)
	for n := range j.Pods {
		var short []condition
		for _, name := range j.Pods[n].TrueConditions {
			short = append(short, condition{Type: name, Status: "True"})
		}
		j.Pods[n].Conditions = f.merge(fmt.Sprintf("%spods[%d].trueConditions", path, n), j.Pods[n].Conditions, short)
	}
}

// merge returns a list with the true conditions of a short form that it lacks.
func (f *forms) merge(path string, list []condition, short []condition) []condition {
	for i := range list {
		list[i].Status = cmp.Or(list[i].Status, "True")
	}
	merged := list
	for _, c := range short {
		i := slices.IndexFunc(list, func(o condition) bool { return o.Type == c.Type })
		if i < 0 {
			merged = append(merged, c)
			continue
		}
		isSame := c.LastTransitionTime.IsZero() || c.LastTransitionTime.Equal(list[i].LastTransitionTime)
		if list[i].Status != "True" || !isSame {
			f.Add(field.Error{Path: path, Found: strconv.Quote(c.Type) + ", while conditions has it with another status or time", Fix: "only conditions"})
		}
	}
	return merged
}

// A condition without a status is true.
type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// A Number of a line may be "NaN", "+Inf" or "-Inf".
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
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
	problems.Join("", l.expand())
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
func (n *Number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if data[0] == '"' {
		text = strings.Trim(text, `"`)
		if !slices.Contains([]string{"NaN", "Inf", "+Inf", "-Inf"}, text) {
			return errType
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	*n = Number(x)
	return err
}

// Wanted describes the values for an error.
func (*Number) Wanted() string { return `a number, "NaN", "+Inf" or "-Inf"` }

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
