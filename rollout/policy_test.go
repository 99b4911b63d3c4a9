package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/rollout"
)

func TestParseStrategy(t *testing.T) {
	for name, want := range map[string]rollout.Strategy{
		"gradual": rollout.Gradual, "immediate": rollout.Immediate, "drain": rollout.Drain,
	} {
		got, err := rollout.ParseStrategy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	got, err := rollout.ParseStrategy("default")
	require.NoError(t, err)
	require.Equal(t, rollout.Immediate, got)
	_, err = rollout.ParseStrategy("recreate")
	require.EqualError(t, err, `unknown rollout strategy "recreate": want gradual, immediate (or default, which is the same) or drain`)
	for _, name := range []string{"", "Immediate", " drain", "Strategy(0)"} {
		got, err := rollout.ParseStrategy(name)
		require.Error(t, err, name)
		require.Zero(t, got)
	}
	require.Equal(t, "Strategy(9)", rollout.Strategy(9).String())
}

func TestParsePropagation(t *testing.T) {
	for name, want := range map[string]rollout.Propagation{
		"background": rollout.Background, "foreground": rollout.Foreground, "orphan": rollout.Orphan,
	} {
		got, err := rollout.ParsePropagation(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	_, err := rollout.ParsePropagation("Foreground")
	require.EqualError(t, err, `unknown propagation policy "Foreground": want background, foreground or orphan`)
	got, err := rollout.ParsePropagation("")
	require.Error(t, err)
	require.Zero(t, got)
	require.Equal(t, "Propagation(9)", rollout.Propagation(9).String())
}

func TestZeroPolicy(t *testing.T) {
	require.Equal(t, rollout.Policy{}, rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Background})
	require.Equal(t, rollout.Policy{Strategy: rollout.Immediate, Propagation: rollout.Background}, rollout.DefaultPolicy())
}
