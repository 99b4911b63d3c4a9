package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const scheduledManifest = `apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: report, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  schedule: {timeSpec: R/T02:30:00/P1D, timeZone: Europe/Berlin}
  template: {spec: {containers: [{name: c, image: i}]}}
`

// The next runs of a ScheduledJob are those of its schedule, from a file or from the cluster,
// with the reason for which runs wait. A lint or an explanation of the file is of the same.
func TestScheduledJob(t *testing.T) {
	file := written(t, "report.yaml", scheduledManifest)
	const want = "2026-03-28 02:30:00 +01:00 CET\n2026-03-29 03:30:00 +02:00 CEST\n  gap: 2026-03-29 02:30:00 does not exist in Europe/Berlin; the clock shows 2026-03-29 03:30:00 instead\n"
	status, out, said := call(t, "next -f "+file+" -n 2 --from 2026-03-28T00:00:00Z", "")
	require.Equal(t, success, status, said)
	require.Equal(t, want, out)
	_, without, said := call(t, "next "+file+" -n 2 --from 2026-03-28T00:00:00Z", "")
	require.Equal(t, want, without, said)

	// The delays of a jitter depend on the UID, which a file does not have.
	delayed := written(t, "delayed.yaml", strings.Replace(scheduledManifest, "timeSpec:", "jitterSeconds: 600, timeSpec:", 1))
	const note = "each run is delayed by less than 600 s, which depends on the UID in the cluster\n"
	_, out, said = call(t, "next -f "+delayed+" -n 2 --from 2026-03-28T00:00:00Z", "")
	require.Equal(t, want+note, out, said)
	_, out, _ = call(t, "explain "+delayed, "")
	require.Contains(t, out, note)

	status, _, said = call(t, "next -f "+file+" -n 0", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "--count 0: out of range; use 1 to 10000")

	status, out, said = call(t, "lint "+file, "")
	require.Equal(t, success, status, said+out)
	require.Contains(t, out, "no findings in 1 ScheduledJob\n")
	for _, args := range []string{file, "-f " + file, "-", "-f -"} {
		status, out, said = callWith(t, "explain "+args, []byte(scheduledManifest))
		require.Equal(t, success, status, said)
		require.Contains(t, out, "schedule R/T02:30:00/P1D Europe/Berlin, concurrency Allow", args)
	}
	status, out, _ = call(t, "lint "+written(t, "never.yaml", scheduledManifest[:len(scheduledManifest)-1]+"\n  concurrencyPolicy: Never\n"), "")
	require.NotEqual(t, success, status)
	require.Contains(t, out, `never.yaml:7:22: error: spec.concurrencyPolicy is "Never": `)

	for _, line := range []string{"null: x", "? [a]\n  : x", "a: !!binary '%'", "podCount: !!int x", "podCount: .nan"} {
		status, out, _ = call(t, "lint "+written(t, "broken.yaml", scheduledManifest+"  "+line+"\n"), "")
		require.Equal(t, found, status, line)
		require.Contains(t, out, `broken.yaml:2:7: error: kind is "ScheduledJob": not YAML: `, line)
	}

	// Each problem has a line of its own, in each format; a valid ScheduledJob has none.
	two := written(t, "two.yaml", strings.NewReplacer("/P1D", "/P1", "Berlin", "Berln").Replace(scheduledManifest))
	for _, format := range []string{"text", "github", "json", "sarif"} {
		status, out, _ = call(t, "lint -o "+format+" "+file, "")
		require.Equal(t, success, status, out)
		status, out, _ = call(t, "lint -o "+format+" "+two, "")
		require.Equal(t, found, status)
		require.Contains(t, out, "spec.schedule.timeSpec", format)
		require.Contains(t, out, "spec.schedule.timeZone", format)
		require.NotContains(t, out, "nothing to lint", format)
	}
	_, _, said = call(t, "next -f "+two, "")
	require.Equal(t, 2, strings.Count(said, "scaledjob: ScheduledJob report: spec.schedule."), said)
	for _, text := range []string{"kind: ScheduledJob\nmetadata: {name: '{{ .Values.name }}'}\n", "a: {{ .Values.a }}\n"} {
		_, _, said = call(t, "next -f "+written(t, "template.yaml", text), "")
		require.Contains(t, said, "a template; render first", text)
	}

	cluster := " -n reports --kubeconfig " + answering(t, map[string]string{"/apis/scaledjob.github.io/v1alpha1/namespaces/reports/scheduledjobs/report": `{"apiVersion":"scaledjob.github.io/v1alpha1","kind":"ScheduledJob",
"metadata":{"name":"report","namespace":"reports","creationTimestamp":"2026-01-01T00:00:00Z"},
"spec":{"schedule":{"timeSpec":"R/T02:30:00/P1D","timeZone":"Europe/Berlin"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
"status":{"reason":"CreateRejected","rejected":"quota","conditions":[{"type":"Progressing","status":"False","reason":"CreateRejected","message":"quota","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`})
	status, out, said = call(t, "next report --count 2 --from 2026-03-28T00:00:00Z"+cluster, "")
	require.Equal(t, success, status, said)
	require.Equal(t, want+"runs wait: CreateRejected: quota\n", out)
	_, out, said = call(t, "explain scheduledjob/report"+cluster, "")
	require.Contains(t, out, "reason   CreateRejected: quota", said)

	// A reason that is not in the runs is the controller's.
	for reason, why := range map[string]string{
		"CatchingUp": "as many runs as may catch up are unfinished", "StateFull": "the checkpoint has no room for another active run", "JobsUnknown": "the Jobs are not known",
		"OtherRunIsActive": "another run is active",
	} {
		text := scheduledManifest + "status: {reason: " + reason + ", pendingExecutions: [{dueAt: '2026-01-02T01:30:00Z'}]}\n"
		_, out, said = call(t, "explain "+written(t, "report.yaml", text), "")
		require.Regexp(t, "waiting  20260102t013000-[0-9a-f]+: "+why+"\n", out, said)
		require.Contains(t, out, "reason   "+reason+": "+why, said)
	}
}
