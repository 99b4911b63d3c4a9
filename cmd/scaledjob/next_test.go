package main

import (
	"bytes"
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
	require.Equal(t, "2026-03-29T03:30:00+02:00", got.Occurrences[0].Time.Format(time.RFC3339))
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
	require.Equal(t, "2026-03-28 02:30:00 +01:00 CET\n2026-03-30 02:30:00 +02:00 CEST\n"+
		"note: clocks in Europe/Berlin skip 2026-03-29 02:00 to 03:00, and with it 1 occurrence, the first at 02:30:00\n", out.String())
	out.Reset()
	n.output.Text, n.n = "json", 1
	require.NoError(t, n.run(&out, "0 6 * * *", from))
	require.Contains(t, out.String(), `"cron": "0 6 * * *"`)
	require.Contains(t, out.String(), `"time": "2026-03-28T06:00:00+01:00"`)
	for text, want := range map[string]string{
		"0 6 * *":          "expected exactly 5 fields",
		"@every 1h":        "use an interval such as R//PT1H",
		"TZ=UTC 0 6 * * *": "it names a zone; use the expression alone, and give the zone beside it",
	} {
		_, err := parseSchedule(text, berlin)
		require.ErrorContains(t, err, want)
		require.Equal(t, text == "0 6 * *", strings.Contains(err.Error(), "use five fields"), err)
	}
	_, err = parseSchedule("R/2026-01-01 02:00:00Z/P1D", berlin)
	require.ErrorContains(t, err, `byte 12 is " 02:00:00Z"; use T and a time of day`)
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

// What may surprise in a cron expression is told: a day that does not exist, a step that does not divide
// the hour, days of month and week together, and an hour that occurs twice.
func TestNextOfSurprisingCron(t *testing.T) {
	for text, want := range map[string]string{
		"0 0 30 2 *":   "no more occurrences\nnote: no occurrence: no day of the next five years matches \"0 0 30 2 *\"; 30 February, for example, does not exist\n",
		"*/90 * * * *": "2026-10-24 23:00:00 +00:00 UTC\nnote: */90 as minute: minute 0 of each hour only; use the timeSpec R//PT90M for a run every 90 minutes\n",
		"0 0 1 * 1":    "2026-10-26 00:00:00 +00:00 UTC\nnote: 1 as day of month and 1 as day of week: a day that matches one of them is enough; use * for one of them, unless that is meant\n",
	} {
		var out strings.Builder
		n := nextCommand{zone: "UTC", n: 1, from: "2026-10-24T22:30:00Z"}
		require.NoError(t, n.run(&out, text, time.Now()))
		require.Equal(t, want, out.String())
	}
	var out strings.Builder
	n := nextCommand{zone: "Europe/Berlin", n: 2, from: "2026-10-24T22:30:00Z"}
	require.NoError(t, n.run(&out, "30 2 * * *", time.Now()))
	require.Equal(t, "2026-10-25 02:30:00 +02:00 CEST\n2026-10-25 02:30:00 +01:00 CET\n"+
		"note: clocks in Europe/Berlin show 2026-10-25 02:00 to 03:00 twice, and with it 1 occurrence, the first at 02:30:00\n", out.String())
}

// The times of a suspended ScheduledJob are no runs, and delays stand beside them.
func TestNextOfSuspended(t *testing.T) {
	text := strings.Replace(scheduledManifest, "spec:\n", "spec:\n  suspend: true\n", 1)
	_, out, said := call(t, "next -n 1 --from 2026-03-27T00:00:00Z -f "+written(t, "report.yaml", text), "")
	require.Equal(t, "2026-03-27 02:30:00 +01:00 CET\nnote: spec.suspend is true: no scheduled run starts\n", out, said)
	text = strings.NewReplacer("metadata: {", "metadata: {uid: u, ", "schedule: {", "schedule: {jitterSeconds: 600, ").Replace(scheduledManifest)
	_, out, said = call(t, "next -n 1 --from 2026-03-27T00:00:00Z -o json -f "+written(t, "report.yaml", text), "")
	require.Regexp(t, `"time": "2026-03-27T02:30:00\+01:00",\s+"delay": "[0-9]+m?[0-9]*s"`, out, said)
	_, _, said = call(t, "next -f "+written(t, "report.yaml", strings.Replace(scheduledManifest, "{timeSpec: R/T02:30:00/P1D, timeZone: Europe/Berlin}", "'0 6 * * *'", 1)), "")
	require.Contains(t, said, `spec.schedule: found "0 6 * * *"; use spec.schedule.cron for a cron expression`)
}

// TestNextOfCronJob reads the schedule of Kubernetes' own object.
func TestNextOfCronJob(t *testing.T) {
	file := written(t, "cron.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: report}\nspec: {schedule: 30 2 * * *, timeZone: Europe/Berlin, suspend: true}\n")
	status, out, said := call(t, "next "+file+" --count 1 --from 2026-01-01T00:00:00Z", "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, "2026-01-01 02:30:00 +01:00 CET")
	require.Contains(t, out, "spec.suspend is true")
}

// TestEdits compares two manifests, and finds the same one equal.
func TestEdits(t *testing.T) {
	const text = "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {maxReplicaCount: MAX, jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}, triggers: [{type: redis, metadata: {address: r.a:1, listName: l, listLength: '1'}}]}\n"
	old, edited := written(t, "old.yaml", strings.Replace(text, "MAX", "20", 1)), written(t, "new.yaml", strings.Replace(text, "MAX", "5", 1))
	status, out, said := call(t, "diff "+old+" "+edited, "")
	require.Equal(t, found, status, said)
	require.Regexp(t, `spec.maxReplicaCount +20 +5`, out)
	require.Contains(t, out, "The edit deletes all Jobs, also running and finished ones; rollout.strategy: gradual keeps them.")
	_, out, _ = call(t, "diff --to spec "+old+" "+edited, "")
	require.Contains(t, out, "The edit deletes no Job: jobTargetRef is the same")
	image := written(t, "image.yaml", strings.NewReplacer("MAX", "20", "image: i", "image: j").Replace(text))
	_, out, _ = call(t, "diff --to spec "+old+" "+image, "")
	require.Contains(t, out, "The edit deletes the unfinished Jobs")
	status, out, _ = call(t, "diff "+old+" "+old, "")
	require.Equal(t, success, status)
	require.Contains(t, out, "both manifests have the same spec")
	status, out, _ = call(t, "test testdata/tests/fails.test.yaml -o junit", "")
	require.Equal(t, found, status)
	require.Contains(t, out, `<testsuite name="testdata/tests/fails.test.yaml"`)
	require.Contains(t, out, "<failure message=")
}

// TestLintHook lints what a hook may pass: any file, and a path that does not exist.
func TestLintHook(t *testing.T) {
	other := written(t, "notes.txt", "hello\n")
	status, out, said := call(t, "lint --config= "+other, "")
	require.Equal(t, success, status, said)
	require.Empty(t, out)
	require.Contains(t, said, "no ScaledJob in")
	status, _, _ = call(t, "lint --config= --require "+other, "")
	require.Equal(t, found, status)
	status, _, _ = call(t, "lint --config= nope.yaml", "")
	require.Equal(t, trouble, status)
}

// Notes tell which occurrences of a cron expression clocks skip or show twice.
func TestClocksOfCron(t *testing.T) {
	for args, want := range map[string]string{
		"'30 2 * * *' --from 2026-03-28T12:00:00Z":        "clocks in Europe/Berlin skip 2026-03-29 02:00 to 03:00, and with it 1 occurrence, the first at 02:30:00",
		"'30 2 * * *' --from 2026-10-24T12:00:00Z":        "clocks in Europe/Berlin show 2026-10-25 02:00 to 03:00 twice, and with it 1 occurrence, the first at 02:30:00",
		"'*/15 * * * *' --from 2026-10-25T00:00:00Z -n 9": "show 2026-10-25 02:00 to 03:00 twice, and with it 4 occurrences, the first at 02:00:00",
		"'0 2 * * 0' --from 2026-03-26T12:00:00Z":         "skip 2026-03-29 02:00 to 03:00, and with it 1 occurrence, the first at 02:00:00",
		"'0 1 4 10 *' --from 2026-09-01T00:00:00Z -n 1":   "",
		"'0 4 * * *' --from 2026-03-28T12:00:00Z":         "",
		"'30 2 * * *' --from 2026-03-27T12:00:00Z -n 1":   "",
	} {
		expression, rest, _ := strings.Cut(strings.TrimPrefix(args, "'"), "' ")
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"next", expression, "--zone", "Europe/Berlin"}, strings.Fields(rest)...), nil, &stdout, &stderr)
		require.Equal(t, success, status, stderr.String())
		if text := strings.Join(strings.Fields(stdout.String()), " "); want == "" {
			require.NotContains(t, text, "clocks in", args)
		} else {
			require.Contains(t, text, want, args)
		}
	}
}
