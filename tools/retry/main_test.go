package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Event lines as go test -json prints them.
func events(lines ...string) io.ReadCloser {
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		pkg, rest, _ := strings.Cut(rest, " ")
		test, output, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", action, pkg, test, output)
	}
	return io.NopCloser(strings.NewReader(b.String()))
}

func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		first, second io.ReadCloser
		good          bool
		again, last   string // the arguments of the second run; the end of what is printed
	}{
		"passes": {events("pass p TestA", "pass p"), nil, true, "", ""},
		"flaky": {events("fail p TestA/x", "fail p TestA", "pass p TestB", "fail p", "pass q"), events("pass p TestA", "pass p"),
			true, "-run ^(TestA)$ -timeout 5m p", "FLAKY: p TestA failed, and passed in a second run\n"},
		"fails":  {events("fail p TestA", "fail p TestB", "fail p"), events("fail p TestA", "fail p"), false, "-run ^(TestA|TestB)$ -timeout 5m p", ""},
		"panics": {events("output p TestA panic: nil", "fail p TestA", "fail p"), events("pass p TestA", "pass p"), true, "-timeout 5m p", "in a second run\n"},
		"build":  {events("fail p"), events("fail p"), false, "-timeout 5m p", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			var out bytes.Buffer
			good := run(func(args []string) (io.ReadCloser, error) {
				if calls = append(calls, strings.Join(args, " ")); len(calls) == 1 {
					return c.first, nil
				}
				return c.second, nil
			}, []string{"-timeout", "5m", "./..."}, &out)
			require.Equal(t, c.good, good)
			if c.again == "" {
				require.Len(t, calls, 1)
				return
			}
			require.Equal(t, []string{"-timeout 5m ./...", c.again}, calls)
			require.True(t, strings.HasSuffix(out.String(), c.last), out.String())
		})
	}
}
