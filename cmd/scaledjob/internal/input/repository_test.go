package input

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGlob(t *testing.T) {
	for pattern, names := range map[string][2]string{
		"vendor/": {"vendor/a.yaml a/vendor/b/c.yaml", "vendors/a.yaml avendor/b.yaml"}, "**/*.gen.yaml": {"a.gen.yaml a/b.gen.yaml", "a.yaml"},
		"deploy/*.yaml": {"deploy/a.yaml", "deploy/a/b.yaml x/deploy/a.yaml"}, "./a?c.yml": {"abc.yml x/abc.yml", "abbc.yml"},
	} {
		e, err := globOf(pattern)
		require.NoError(t, err)
		for _, name := range strings.Fields(names[0]) {
			require.True(t, e.MatchString(name), "%s %s", pattern, name)
		}
		for _, name := range strings.Fields(names[1]) {
			require.False(t, e.MatchString(name), "%s %s", pattern, name)
		}
	}
}
