package keda

import "time"

// A Job is what KEDA reads of one. It reads neither deletion timestamps nor
// spec.suspend nor owners. The zero value is unfinished and has no pods.
type Job struct {
	Name           string            `json:"name"`
	Annotations    map[string]string `json:"annotations"`
	CompletionTime *time.Time        `json:"completionTime"` // only successes have one
	Conditions     []Condition       `json:"conditions"`
	Pods           []Pod             `json:"pods"` // pods that could not be listed are like none
}

// A Pod is what KEDA reads of one.
type Pod struct {
	Phase      string      `json:"phase"`
	Conditions []Condition `json:"conditions"`
}

// A Condition of a Job or a pod.
type Condition struct {
	Type   string `json:"type"`
	Status string `json:"status"` // "True", "False" or "Unknown"
}

// holds reports whether the condition is true.
func (c *Condition) holds() bool { return c.Status == "True" }

// outcome is the type of the first condition that says that a Job has finished:
// "Complete" or "Failed", or "" of a Job that has not.
func (j *Job) outcome() string {
	for i := range j.Conditions {
		if c := &j.Conditions[i]; (c.Type == "Complete" || c.Type == "Failed") && c.holds() {
			return c.Type
		}
	}
	return ""
}
