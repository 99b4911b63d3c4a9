package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCut(t *testing.T) {
	require.Equal(t, "abc", cut("abc", 3))
	require.Equal(t, "a…", cut("abcde", 4))
	require.Equal(t, "ä…", cut("ääää", 6), "not within a character")
	require.Len(t, ConditionMessage(strings.Repeat("a", 40_000)), 32<<10)
	require.Len(t, EventMessage(strings.Repeat("a", 40_000)), 1024)
}
