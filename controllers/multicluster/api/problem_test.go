package api

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A member that rejects every create keeps its problem between the creates, until one succeeds or
// the object is edited.
func TestNextProblem(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	forbidden := fmt.Errorf("created 0 of 1 Job: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a", errors.New("quota")))
	var p *MemberProblem
	poll := 0
	next := func(err error, requested bool, generation int64) {
		p = NextProblem(p, err, requested, generation, start.Add(time.Duration(poll)*time.Minute))
		poll++
	}
	next(nil, false, 1)
	require.Nil(t, p)
	next(forbidden, true, 1)
	for range 3 {
		next(nil, false, 1) // it is left out, or waits
	}
	next(forbidden, true, 1)
	require.Equal(t, ProblemRejected, p.Reason)
	require.EqualValues(t, 2, p.Count)
	require.Equal(t, start.Add(time.Minute), p.Since)
	require.Contains(t, p.String(), "CreateRejected since 2026-01-01T12:01:00Z, 2 times: 403 Forbidden: created 0 of 1 Job")
	next(nil, false, 2)
	require.Nil(t, p, "edited")
	next(errors.New("no answer"), true, 2)
	require.Equal(t, ProblemFailed, p.Reason)
	next(nil, true, 2)
	require.Nil(t, p, "a create has succeeded")
	for _, err := range []error{apierrors.NewTooManyRequestsError("a"), apierrors.NewInternalError(errors.New("a"))} {
		require.Equal(t, ProblemFailed, problemReason(err))
	}
	require.Equal(t, ProblemRejected, problemReason(apierrors.NewInvalid(schema.GroupKind{}, "a", nil)))
}
