package adapter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/slots"
)

// A reason that should have ended asks for no check: it would ask for one at once, again and again.
func TestNextCheckIsLater(t *testing.T) {
	var p Plan
	p.hold([]slots.Hold{{Until: noon.Add(-time.Minute)}, {Until: noon}}, noon)
	require.Zero(t, p.NextCheck)
	p.hold([]slots.Hold{{Until: noon.Add(time.Hour)}, {Until: noon.Add(time.Minute)}}, noon)
	require.Equal(t, noon.Add(time.Minute), p.NextCheck)
}

// A tracker for one poll leaves nothing in its term.
func TestObserveJoinsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := term.Alone()
		_, err := Observe(newTarget(), Options{Terms: h}, nil, nil)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.False(t, h.End().Clean, "no work speaks for it")
	})
}
