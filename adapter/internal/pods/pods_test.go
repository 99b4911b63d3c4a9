package pods

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The Jobs until a limit are those of a recount, in whatever order times and limits come.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times Times
		var pending []int64
		second := rapid.Int64Range(0, 9)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				pending = append(pending, second.Draw(t, "since"))
				times.Add(time.Unix(pending[len(pending)-1], 0), 1)
			},
			"remove": func(t *rapid.T) {
				if len(pending) > 0 {
					times.Add(time.Unix(pending[0], 0), -1)
					pending = pending[1:]
				}
			},
			"": func(t *rapid.T) {
				limit, n := second.Draw(t, "limit"), 0
				for _, since := range pending {
					if since <= limit {
						n++
					}
				}
				require.EqualValues(t, n, times.Until(time.Unix(limit, 0)))
			},
		})
		require.LessOrEqual(t, len(times.entries), len(pending))
	})
}
