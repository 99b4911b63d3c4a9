package scheduledjob_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// The fields of a CronJob have its meaning.
func TestCronJobFields(t *testing.T) {
	s := read(t, with(`  schedule: {timeSpec: R//PT1H}
  suspend: true
  startingDeadlineSeconds: 90
  concurrencyPolicy: Forbid
  failedJobsHistoryLimit: 1
  successfulJobsHistoryLimit: 3
  ttlSecondsAfterFinished: 299
  activeDeadlineSeconds: 60
  podFailurePolicy:
    rules: [{action: FailIndex, onExitCodes: {operator: In, values: [3]}}]
`))
	c, err := s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.True(t, c.Policy.Suspended)
	require.EqualValues(t, 90*time.Second, c.Policy.StartingDeadline)
	require.Equal(t, schedule.Forbid, c.Policy.Concurrency)
	require.Equal(t, history.Policy{Succeeded: history.Keep(3), Failed: history.Keep(1)}, c.Policy.History)
	require.Empty(t, c.Warnings)

	job := c.NewJob(metav1.OwnerReference{}, schedule.Run{Tag: "tag"}).Spec
	require.Nil(t, job.TTLSecondsAfterFinished, "Kubernetes would delete a Job whose outcome is not stored")
	require.Equal(t, "299", c.NewJob(metav1.OwnerReference{}, schedule.Run{Tag: "tag"}).Annotations[scheduledjob.AnnotationTTL])
	require.EqualValues(t, 60, *job.ActiveDeadlineSeconds)
	require.Nil(t, job.Template.Spec.ActiveDeadlineSeconds, "which is execTimeout")
	require.Equal(t, batchv1.PodFailurePolicyActionFailIndex, job.PodFailurePolicy.Rules[0].Action)
	job.PodFailurePolicy.Rules[0].Action, *job.ActiveDeadlineSeconds = "", 0
	again := c.NewJob(metav1.OwnerReference{}, schedule.Run{Tag: "tag"}).Spec
	require.NotEqual(t, job.PodFailurePolicy, again.PodFailurePolicy)
	require.EqualValues(t, 60, *again.ActiveDeadlineSeconds)

	s.Spec.TTLSecondsAfterFinished = new(int32(300))
	c, err = s.Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

func TestConcurrencyPolicy(t *testing.T) {
	for text, want := range map[string]schedule.Concurrency{
		"":                           schedule.Allow,
		"allowConcurrentRun: true":   schedule.Allow,
		"allowConcurrent: false":     schedule.Wait,
		"concurrencyPolicy: Allow":   schedule.Allow,
		"concurrencyPolicy: Wait":    schedule.Wait,
		"concurrencyPolicy: Forbid":  schedule.Forbid,
		"concurrencyPolicy: Replace": schedule.Replace,
		"concurrencyPolicy: Forbid\n  allowConcurrentRun: false": schedule.Forbid,
		"concurrencyPolicy: Allow\n  allowConcurrent: true":      schedule.Allow,
	} {
		c, err := read(t, with("  "+text+"\n")).Config(scheduledjob.Inputs{})
		require.NoError(t, err, text)
		require.Equal(t, want, c.Policy.Concurrency, text)
	}
	for text, want := range map[string]string{
		"concurrencyPolicy: forbid":                             `spec.concurrencyPolicy: found "forbid"; use Allow, Wait, Forbid or Replace`,
		"concurrencyPolicy: Forbid\n  allowConcurrentRun: true": `spec.concurrencyPolicy: found "Forbid"; use a policy that agrees with true, the value of spec.allowConcurrentRun, or only one of the two`,
		"concurrencyPolicy: Allow\n  allowConcurrent: false":    `spec.concurrencyPolicy: found "Allow"; use a policy that agrees with false, the value of spec.allowConcurrentRun, or only one of the two`,
		"startingDeadlineSeconds: 0":                            "spec.startingDeadlineSeconds: found 0; use 1 to 2147483647",
		"activeDeadlineSeconds: 0":                              "spec.activeDeadlineSeconds: found 0; use 1 to 2147483647",
		"ttlSecondsAfterFinished: -1":                           "spec.ttlSecondsAfterFinished: found -1; use 0 to 2147483647",
		"failedJobsHistoryLimit: 1001":                          "spec.failedJobsHistoryLimit: found 1001; use 0 to 1000",
		"successfulJobsHistoryLimit: -1":                        "spec.successfulJobsHistoryLimit: found -1; use 0 to 1000",
		"schedule: {cron: '0 6 * * *'}":                         `spec.schedule.cron: found "0 6 * * *"; use timeSpec; this program reads no cron expressions`,
		"schedule: {timeSpec: '0 6 * * *'}":                     "use spec.schedule.cron for a cron expression",
		"schedule: {timeSpec: R//PT1H, cron: '0 6 * * *'}":      `spec.schedule.cron: found "0 6 * * *", and a timeSpec; use only one of the two`,
	} {
		_, err := read(t, with("  "+text+"\n")).Config(scheduledjob.Inputs{})
		require.ErrorContains(t, err, want, text)
	}
}

// The program's parser reads a cron expression, in the zone of the schedule.
func TestCron(t *testing.T) {
	var in *time.Location
	inputs := scheduledjob.Inputs{Cron: scheduledjob.Cron(func(text string) (nexter, error) {
		if text != " 0 6 * * *" {
			return nil, errors.New("no minute")
		}
		return func(after time.Time) time.Time {
			in = after.Location()
			return after.Add(1)
		}, nil
	})}
	config := func(text string) (scheduledjob.Config, error) {
		return read(t, with(fmt.Sprintf("  schedule: {cron: %q, timeZone: Europe/Berlin}\n", text))).Config(inputs)
	}
	c, err := config(" 0 6 * * *")
	require.NoError(t, err)
	require.Equal(t, "0 6 * * * Europe/Berlin", c.Policy.Schedule.String())
	require.Equal(t, "Europe/Berlin", in.String())
	for text, want := range map[string]string{
		"x": `no minute; use five fields (minute, hour, day of month, month, day of week), such as "0 6 * * *"`, "TZ=UTC 0 6 * * *": "it names a zone; use the expression alone, and give the zone beside it", "@every 1h": "@every has no fixed times; use an interval such as R//PT1H",
	} {
		_, err = config(text)
		require.EqualError(t, err, fmt.Sprintf("spec.schedule.cron: found %q: %s", text, want))
	}
	s, err := inputs.Cron(" 0 6 * * *", nil)
	require.NoError(t, err)
	require.Equal(t, "0 6 * * *", s.String())
}

type nexter func(time.Time) time.Time

func (n nexter) Next(after time.Time) time.Time { return n(after) }

// proposal is the example of the proposal, with its missing commas.
const proposal = `{
  "apiVersion": "%s",
  "kind": "%s",
  "metadata" : {"name": "%s", "labels" : {"name": "myJob"}},
  "spec": {
    "schedule": {"timeSpec": "%s", "skipOutdated": true, "blockOnFailure": false},
    "allowConcurrentRun": false,
    "maxRestart": 2,
    "execTimeout": 100,
    "PodCount": 1,
    "selector": { "name": "myjob"},
    "template": {
      "metadata" : {"name": "myJobPodTemplate", "labels" : {"name": "myJobPodTemplate"}},
      "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "job-container", "image": "app/job"}]}
    }
  }
}`

// The proposal's example is accepted where it is valid. Elsewhere the error has the fix.
func TestProposalsText(t *testing.T) {
	_, err := scheduledjob.Read(fmt.Appendf(nil, proposal, "v1beta3", "Job", "myJob", "R5/T01:00:00/PT01"))
	require.ErrorContains(t, err, "kind: found Job; use ScheduledJob, with apiVersion scaledjob.github.io/v1alpha1")
	_, err = scheduledjob.Read(fmt.Appendf(nil, proposal, "v1beta3", "ScheduledJob", "myJob", "R5/T01:00:00/PT01"))
	require.ErrorContains(t, err, `apiVersion: found "v1beta3"; use scaledjob.github.io/v1alpha1`)
	s := read(t, fmt.Sprintf(proposal, "scaledjob.github.io/v1alpha1", "ScheduledJob", "myJob", "R5/T01:00:00/PT01"))
	_, err = s.Config(scheduledjob.Inputs{})
	require.EqualError(t, err, `metadata.name: found "myJob"; use a name of lower-case letters, digits, - and ., such as "my-job"
spec.schedule.timeSpec: found "R5/T01:00:00/PT01", whose byte 15 is "01"; use a unit behind the number: H, M or S`)
	c, err := read(t, fmt.Sprintf(proposal, "scaledjob.github.io/v1alpha1", "ScheduledJob", "my-job", "R5/T01:00:00/PT1H")).Config(scheduledjob.Inputs{})
	require.NoError(t, err)
	require.Equal(t, schedule.Wait, c.Policy.Concurrency)
	require.Equal(t, [3]int64{2, 100, 1}, [3]int64{int64(c.MaxRestart), c.ExecTimeout, int64(c.PodCount)})
}

// What may surprise in a cron expression is a warning with something to use instead.
func TestCronNotes(t *testing.T) {
	for expression, want := range map[string][]scheduledjob.CronNote{
		"*/15 */6 * * *": nil, "0 6 1 * *": nil, "0 6 * * 1": nil, "@daily": nil, "0 0 */1 * 1": nil,
		"*/90 * * * *": {{"*/90 as minute: minute 0 of each hour only", "the timeSpec R//PT90M for a run every 90 minutes"}},
		"*/45 * * * *": {{"*/45 as minute: the last of each hour is 45, and the next is 0", "the timeSpec R//PT45M for a run every 45 minutes"}},
		"0 */36 * * *": {{"*/36 as hour: hour 0 of each day only", "the timeSpec R//PT36H for a run every 36 hours"}},
		"0 0 1 * 1":    {{"1 as day of month and 1 as day of week: a day that matches one of them is enough", "* for one of them, unless that is meant"}},
	} {
		require.Equal(t, want, scheduledjob.CronNotes(expression), expression)
	}
	c, err := read(t, minimal+"  schedule: {cron: '*/90 * * * *'}\n").Config(scheduledjob.Inputs{Cron: scheduledjob.Cron(func(string) (nexter, error) {
		return func(after time.Time) time.Time { return after.Add(time.Hour) }, nil
	})})
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Equal(t, "spec.schedule.cron: found */90 as minute: minute 0 of each hour only; use the timeSpec R//PT90M for a run every 90 minutes", c.Warnings[0].Error())
}

// An expression is the same schedule however it is written.
func TestCronIdentity(t *testing.T) {
	type values struct{ Minute int }
	parse := scheduledjob.Cron(func(text string) (valued, error) { return valued{values{len(strings.Fields(text))}}, nil })
	one, err := parse("0 6", nil)
	require.NoError(t, err)
	other, err := parse(" 0  06 ", time.UTC)
	require.NoError(t, err)
	require.Equal(t, one.Identity(), other.Identity())
	other, err = parse("0 6 7", nil)
	require.NoError(t, err)
	require.NotEqual(t, one.Identity(), other.Identity())
}

type valued struct{ Values any }

func (valued) Next(after time.Time) time.Time { return after.Add(time.Hour) }

// A field without an effect is a warning.
func TestFieldsWithoutEffect(t *testing.T) {
	hourly := "  schedule: {timeSpec: R//PT1H, "
	for text, path := range map[string]string{
		hourly + "skipOutdated: false}\n  concurrencyPolicy: Forbid":                      "spec.schedule.skipOutdated",
		hourly + "skipOutdated: false}\n  concurrencyPolicy: Replace":                     "spec.schedule.skipOutdated",
		hourly + "maxCatchUp: 3}":                                                         "spec.schedule.maxCatchUp",
		hourly + "skipOutdated: false, maxCatchUp: 3}\n  allowConcurrentRun: false":       "spec.schedule.maxCatchUp",
		hourly + "jitterSeconds: 1}":                                                      "spec.schedule.jitterSeconds",
		"  schedule: {jitterSeconds: 9}":                                                  "spec.schedule.jitterSeconds",
		"  schedule: {endTime: 2027-01-01T00:00:00Z}":                                     "spec.schedule.endTime",
		"  schedule: {skipOutdated: false}":                                               "spec.schedule.skipOutdated",
		"  schedule: {blockOnFailure: true}":                                              "spec.schedule.blockOnFailure",
		"  schedule: {maxCatchUp: 3}":                                                     "spec.schedule.maxCatchUp",
		"  suspend: true":                                                                 "spec.suspend",
		"  startingDeadlineSeconds: 9":                                                    "spec.startingDeadlineSeconds",
		"  historyLimit: 1\n  successfulJobsHistoryLimit: 2\n  failedJobsHistoryLimit: 3": "spec.historyLimit",
		"  execTimeout: 100\n  activeDeadlineSeconds: 100":                                "spec.execTimeout",
		hourly + "skipOutdated: false, maxCatchUp: 3, jitterSeconds: 2, endTime: 2027-01-01T00:00:00Z, timeZone: Asia/Tokyo}\n  execTimeout: 9\n  activeDeadlineSeconds: 100": "",
	} {
		c, err := read(t, minimal+text+"\n").Config(scheduledjob.Inputs{})
		require.NoError(t, err, text)
		if path == "" {
			require.Empty(t, c.Warnings, text)
			continue
		}
		require.Len(t, c.Warnings, 1, text)
		require.Equal(t, path, c.Warnings[0].Path, text)
	}
}

// A schedule as in a CronJob gets the field that a ScheduledJob has for it.
func TestScheduleAsText(t *testing.T) {
	for text, fix := range map[string]string{
		"0 6 * * *": "spec.schedule.cron for a cron expression", "@daily": "spec.schedule.cron for a cron expression", "R//PT1H": "spec.schedule.timeSpec for an interval",
	} {
		_, err := scheduledjob.Read([]byte(minimal + "  schedule: '" + text + "'\n"))
		require.EqualError(t, err, fmt.Sprintf("spec.schedule: found %q; use %s", text, fix))
	}
}
