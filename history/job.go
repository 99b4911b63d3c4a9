package history

import (
	"fmt"
	"time"
)

// An Outcome is how a Job ended. The zero value is that of a Job that has not.
type Outcome uint8

const (
	Unfinished Outcome = iota // never chosen
	Succeeded                 // the condition Complete is true
	Failed                    // the condition Failed is true
)

var outcomes = [...]string{"unfinished", "succeeded", "failed"}

// String returns the outcome in a word.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// A Job is what the rule needs to know of one. The zero value has not finished,
// and is never chosen; neither is a Job of an Outcome that has no name here.
type Job struct {
	Name     string
	Outcome  Outcome
	Deleting bool      // has a deletion timestamp
	Finished time.Time // see [Times.Finished]; the zero time sorts as the year 1 that it is
}

// Times are what Kubernetes records of a Job that bears on when it finished. The
// zero time stands for what is not recorded.
type Times struct {
	Completion time.Time // status.completionTime, which only successes have
	Failure    time.Time // when the condition Failed became true
	Creation   time.Time // metadata.creationTimestamp
}

// Finished returns the time of completion, else of the failure, else of creation.
func (t Times) Finished() time.Time {
	switch {
	case !t.Completion.IsZero():
		return t.Completion
	case !t.Failure.IsZero():
		return t.Failure
	}
	return t.Creation
}
