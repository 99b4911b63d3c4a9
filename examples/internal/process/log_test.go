package process_test

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/internal/process"
)

func parse(t *testing.T, args ...string) (l process.Log) {
	t.Helper()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	l.Flags(flags)
	require.NoError(t, flags.Parse(args))
	return l
}

func TestLog(t *testing.T) {
	said := func(args ...string) string {
		l := parse(t, args...)
		require.NoError(t, l.Check())
		var b bytes.Buffer
		log := l.To(&b)
		log.Debug("low")
		log.Info("high")
		return b.String()
	}
	require.Contains(t, said(), "level=INFO msg=high")
	require.NotContains(t, said(), "low")
	require.Contains(t, said("-log-level=debug"), "msg=low")
	require.Contains(t, said("-log-format=json"), `"msg":"high"`)
	require.EqualError(t, parse(t, "-log-format=xml").Check(), `-log-format: found "xml"; use text or json`)
}
