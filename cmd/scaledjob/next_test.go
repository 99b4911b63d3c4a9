package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNextJSON(t *testing.T) {
	_, out, said := call(t, "next R/T02:30/P1D --zone Europe/Berlin -n 1 --from 2026-03-28T23:00:00Z -o json", "")
	require.Empty(t, said)
	var got struct {
		Interval, Zone string
		Occurrences    []occurrence
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, "R/T02:30:00/P1D", got.Interval)
	require.Equal(t, "Europe/Berlin", got.Zone)
	require.Equal(t, time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), got.Occurrences[0].Time)
	require.Equal(t, "gap", got.Occurrences[0].Notes[0].Kind)

	_, out, _ = call(t, "next R0//P1D -o json", "")
	require.Contains(t, out, `"occurrences": []`)
}

// A cron expression has the times of a CronJob, without the one that clocks skip.
func TestNextCron(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	from := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	n := nextCommand{zone: "Europe/Berlin", n: 2, from: "2026-03-28T00:00:00Z"}
	require.NoError(t, n.run(&out, "30 2 * * *", from))
	require.Equal(t, "2026-03-28 02:30:00 +01:00 CET\n2026-03-30 02:30:00 +02:00 CEST\n", out.String())
	out.Reset()
	n.output.Text, n.n = "json", 1
	require.NoError(t, n.run(&out, "0 6 * * *", from))
	require.Contains(t, out.String(), `"cron": "0 6 * * *"`)
	require.Contains(t, out.String(), `"time": "2026-03-28T05:00:00Z"`)
	for text, want := range map[string]string{
		"0 6 * *":          "expected exactly 5 fields",
		"@every 1h":        "use an interval such as R//PT1H",
		"TZ=UTC 0 6 * * *": "a zone belongs in the time zone of the schedule",
	} {
		_, err := parseSchedule(text, berlin, from)
		require.ErrorContains(t, err, want)
	}
	_, err = parseSchedule("R/2026-01-01 02:00:00Z/P1D", berlin, from)
	require.ErrorContains(t, err, "was R/2026-01-01T02:00:00Z/P1D meant?")
}

// Without --from, the next occurrences are after now.
func TestNextFromNow(t *testing.T) {
	status, out, _ := call(t, "next R//PT1H -n 1 -o json", "")
	require.Equal(t, success, status)
	var got struct{ Occurrences []occurrence }
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.WithinDuration(t, time.Now(), got.Occurrences[0].Time, time.Minute)
}

func TestNextWrong(t *testing.T) {
	var stderr strings.Builder
	require.Equal(t, trouble, run(t.Context(), []string{"next", "a b c d e"}, nil, io.Discard, &stderr))
	require.Contains(t, stderr.String(), `failed to parse int from a: "a": invalid syntax`)
	require.NotRegexp(t, goWords, stderr.String())
}
