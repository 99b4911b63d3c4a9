package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter"
)

// Reasons of a MemberProblem.
const (
	ProblemRejected    = "CreateRejected"        // the member has rejected Jobs
	ProblemFailed      = "RequestsFailed"        // creates or writes have failed, and may succeed later
	ProblemCredentials = "CredentialsUnreadable" // the kubeconfig cannot be used; the one before is
)

// A MemberProblem is what went wrong with requests of an object to a member. It stays until a
// request of the kind succeeds, or the object or the kubeconfig is edited. It excludes no member.
type MemberProblem struct {
	Reason     string    `json:"reason"`
	Message    string    `json:"message"`
	Count      int64     `json:"count"` // polls with the problem
	Since      time.Time `json:"since"`
	Generation int64     `json:"generation,omitempty"` // of the object
}

// String describes the problem for a status.
func (p *MemberProblem) String() string {
	return fmt.Sprintf("%s since %s, %d times: %s", p.Reason, p.Since.UTC().Format(time.RFC3339), p.Count, p.Message)
}

// NextProblem returns the problem after a poll of an object of that generation. A nil error is a
// request that succeeded if there was one, and otherwise no news.
func NextProblem(before *MemberProblem, err error, requested bool, generation int64, now time.Time) *MemberProblem {
	if before != nil && (before.Reason == ProblemCredentials || before.Generation != generation) {
		before = nil
	}
	switch {
	case err == nil && requested:
		return nil
	case err == nil:
		return before
	}
	after := &MemberProblem{Reason: problemReason(err), Message: adapter.ErrorText(err), Since: now.UTC().Truncate(time.Second), Generation: generation}
	if before != nil {
		after.Since, after.Count = before.Since, before.Count
	}
	after.Count++
	return after
}

// problemReason returns the reason of an error: it was rejected if the member answered that the
// request itself is wrong or forbidden.
func problemReason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ProblemFailed
	}
	switch code := status.Status().Code; {
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code < 400, code >= 500:
		return ProblemFailed
	}
	return ProblemRejected
}
