package term_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/term"
)

// A lease may be lost, and its writes may fail.
type lease struct {
	lost  bool
	fails error
	marks []term.Mark
}

func (l *lease) Valid() bool { return !l.lost }

func (l *lease) Mark(_ context.Context, m term.Mark) error {
	l.marks = append(l.marks, m)
	return l.fails
}

// A term ends for good, also if its lease is valid again. Without a term nobody may act.
func TestTerms(t *testing.T) {
	var none *term.Holder
	require.ErrorIs(t, none.Err(), term.ErrEnded)
	h, l := &term.Holder{}, &lease{}
	require.False(t, h.MayAct())
	require.Equal(t, term.Mark{}, h.End())
	first := h.Begin(l, term.Mark{})
	require.True(t, h.MayAct())
	l.lost = true
	require.ErrorIs(t, first.Err(), term.ErrEnded)
	l.lost = false
	require.ErrorIs(t, h.Err(), term.ErrEnded, "it has ended for good")
	second := h.Begin(l, term.Mark{})
	require.NoError(t, h.Err())
	h.Begin(l, term.Mark{})
	require.ErrorIs(t, second.Err(), term.ErrEnded, "another has begun")
	h.End()
	require.False(t, h.MayAct())
	require.NoError(t, term.Alone().Err())
}

// A request ends after the timeout with any client, and there is none without a term.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := term.Alone()
		ctx, cancel, err := h.Request(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, err)
		begin := time.Now()
		<-ctx.Done()
		require.Equal(t, time.Second, time.Since(begin))
		require.ErrorIs(t, context.Cause(ctx), term.ErrNoAnswer)
		require.EqualError(t, context.Cause(ctx), "no answer within 1s: context deadline exceeded")
		h.End()
		_, _, err = h.Request(t.Context(), time.Second)
		require.ErrorIs(t, err, term.ErrEnded)
	})
}

// A context has the terms of a process, or a single one, which the next does not prolong.
func TestWith(t *testing.T) {
	h := &term.Holder{}
	require.NoError(t, term.Check(t.Context()))
	require.ErrorIs(t, term.Check(term.With(t.Context(), h)), term.ErrEnded)
	h.Begin(&lease{}, term.Mark{})
	of, cancel, err := h.Request(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, err)
	require.NoError(t, term.Check(of))
	h.Begin(&lease{}, term.Mark{})
	require.ErrorIs(t, term.Check(of), term.ErrEnded)
	require.NoError(t, term.Check(term.With(t.Context(), h)))
}

// The mark of an orderly end needs a term that is older than L, in which each create has an
// outcome; or one that found it.
func TestClean(t *testing.T) {
	const late = time.Minute
	for _, c := range []struct {
		found   bool
		works   int
		settled bool
		age     time.Duration
		want    bool
	}{
		{false, 0, true, 2 * late, false},
		{false, 1, true, late - 1, false},
		{false, 1, true, late, true},
		{false, 2, false, late, false},
		{true, 0, true, 0, true},
		{true, 1, true, 0, true},
		{true, 1, false, 2 * late, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &term.Holder{}
			is := h.Begin(&lease{}, term.Mark{Clean: c.found})
			for i := range c.works {
				is.Join(late, func() bool { return c.settled || i > 0 })
			}
			time.Sleep(c.age)
			require.Equal(t, term.Mark{Clean: c.want}, h.End(), "%+v", c)
		})
	}
}

// The mark of numbers that are set aside is written before, and goes at an orderly end, but
// not within L or while anything is set aside.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		found, settled bool
		age            time.Duration
		want           bool
	}{
		{false, true, time.Second, true}, {false, true, time.Minute, false}, {false, false, time.Minute, true},
		{true, true, time.Second, true}, {true, true, time.Minute, false}, {true, false, time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, l, ctx := &term.Holder{}, &lease{fails: errors.New("no")}, t.Context()
			is := h.Begin(l, term.Mark{Aside: c.found})
			is.Join(time.Minute, func() bool { return c.settled })
			if !c.found {
				require.Error(t, is.Aside(ctx))
				l.fails = nil
			}
			for range 2 {
				require.NoError(t, is.Aside(ctx))
			}
			if c.found {
				require.Empty(t, l.marks, "the lease has it")
			} else {
				require.Equal(t, []term.Mark{{Aside: true}, {Aside: true}}, l.marks, "the first was not written")
			}
			time.Sleep(c.age)
			require.Equal(t, c.want, h.End().Aside, "%+v", c)
			require.ErrorIs(t, is.Aside(ctx), term.ErrEnded)
		})
	}
	h := &term.Holder{}
	h.Begin(&lease{}, term.Mark{Aside: true})
	require.True(t, h.End().Aside, "no work speaks for its end")
}
