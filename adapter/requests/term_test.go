package requests_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A lease may be lost, and its writes may fail.
type lease struct {
	lost  bool
	fails error
	marks int
}

func (l *lease) Valid() bool { return !l.lost }

func (l *lease) Mark(context.Context) error {
	l.marks++
	return l.fails
}

// A term ends for good, also if its lease is valid again. Without a term nobody may act.
func TestTerms(t *testing.T) {
	var none *requests.Terms
	require.ErrorIs(t, none.Err(), requests.ErrEnded)
	h, l := &requests.Terms{}, &lease{}
	require.False(t, h.MayAct())
	require.False(t, h.End())
	first := h.Begin(l, false)
	require.True(t, h.MayAct())
	l.lost = true
	require.ErrorIs(t, first.Err(), requests.ErrEnded)
	l.lost = false
	require.ErrorIs(t, h.Err(), requests.ErrEnded, "it has ended for good")
	second := h.Begin(l, false)
	require.NoError(t, h.Err())
	h.Begin(l, false)
	require.ErrorIs(t, second.Err(), requests.ErrEnded, "another has begun")
	h.End()
	require.False(t, h.MayAct())
	require.NoError(t, requests.OneShot().Err())
}

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
	h := &requests.Terms{}
	require.NoError(t, requests.CheckTerm(t.Context()))
	require.ErrorIs(t, requests.CheckTerm(requests.WithTerm(t.Context(), h)), requests.ErrEnded)
	h.Begin(&lease{}, false)
	of, cancel, err := h.Term().Request(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, err)
	require.NoError(t, requests.CheckTerm(of))
	h.Begin(&lease{}, false)
	require.ErrorIs(t, requests.CheckTerm(of), requests.ErrEnded)
	require.NoError(t, requests.CheckTerm(requests.WithTerm(t.Context(), h)))
}

// The mark of numbers that are skipped is written before, and goes at an orderly end, but
// not within L or while anything is skipped.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		found, settled bool
		age            time.Duration
		want           bool
	}{
		{false, true, time.Second, true}, {false, true, time.Minute, false}, {false, false, time.Minute, true},
		{true, true, time.Second, true}, {true, true, time.Minute, false}, {true, false, time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, l, ctx := &requests.Terms{}, &lease{fails: errors.New("no")}, t.Context()
			is := h.Begin(l, c.found)
			is.Join(time.Minute, func() bool { return c.settled })
			if !c.found {
				require.Error(t, is.Mark(ctx))
				l.fails = nil
			}
			for range 2 {
				require.NoError(t, is.Mark(ctx))
			}
			if c.found {
				require.Zero(t, l.marks, "the lease has it")
			} else {
				require.Equal(t, 2, l.marks, "the first was not written")
			}
			time.Sleep(c.age)
			require.Equal(t, c.want, h.End(), "%+v", c)
			require.ErrorIs(t, is.Mark(ctx), requests.ErrEnded)
		})
	}
	h := &requests.Terms{}
	h.Begin(&lease{}, true)
	require.True(t, h.End(), "no work speaks for its end")
}
