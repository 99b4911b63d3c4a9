package requests_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A request ends after the timeout with any client, and there is none without a term.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := requests.OneShot()
		ctx, cancel, err := h.Term().Request(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, err)
		begin := time.Now()
		<-ctx.Done()
		require.Equal(t, time.Second, time.Since(begin))
		require.ErrorIs(t, context.Cause(ctx), requests.ErrNoAnswer)
		require.EqualError(t, context.Cause(ctx), "no answer within 1s: context deadline exceeded")
		h.End()
		_, _, err = h.Term().Request(t.Context(), time.Second)
		require.ErrorIs(t, err, requests.ErrEnded)
	})
}

// A context has the terms of a process, or a single one, which the next does not prolong.
func TestWithTerm(t *testing.T) {
	var none *requests.Terms
	require.ErrorIs(t, none.Err(), requests.ErrEnded)
	h := &requests.Terms{}
	require.NoError(t, requests.CheckTerm(t.Context()))
	require.ErrorIs(t, requests.CheckTerm(requests.WithTerm(t.Context(), h)), requests.ErrEnded)
	h.Begin(&lockFile{}, false)
	of, cancel, err := h.Term().Request(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, err)
	require.NoError(t, requests.CheckTerm(of))
	h.Begin(&lockFile{}, false)
	require.ErrorIs(t, requests.CheckTerm(of), requests.ErrEnded)
	require.NoError(t, requests.CheckTerm(requests.WithTerm(t.Context(), h)))
	require.NoError(t, h.Begin(&lockFile{}, true).Mark(t.Context()), "it is not stored twice")
}
