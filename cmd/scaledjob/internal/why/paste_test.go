package why

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

const describedOrders = `Name:         orders
Namespace:    shop
Kind:         ScaledJob
Status:
  Conditions:
    Message:  Triggers defined in ScaledJob are not working correctly
    Reason:   TriggerError
    Status:   False
    Type:     Ready
Events:
  Type     Reason            Age                From           Message
  ----     ------            ----               ----           -------
  Warning  KEDAScalerFailed  2m (x12 over 10m)  keda-operator  dial tcp: lookup redis on 10.0.0.10:53: no such host
`

// TestPastes reads what kubectl prints, and refuses what is about other objects.
func TestPastes(t *testing.T) {
	pastes, err := ReadPaste(describedOrders)
	require.NoError(t, err)
	a := Explain(Read(), Question{Pasted: pastes}).Subjects[0]
	require.Equal(t, "unreadable", a.Causes[0].ID)
	require.Contains(t, a.Answer, "does not exist for the operator's pod")
	events := "LAST SEEN   TYPE      REASON             OBJECT             MESSAGE\n2m          Warning   KEDAScalerFailed   scaledjob/orders   dial: connection refused\n"
	pastes, err = ReadPaste(events)
	require.NoError(t, err)
	require.Equal(t, "unreadable", Explain(Read(), Question{Pasted: pastes}).Subjects[0].Causes[0].ID)
	_, err = ReadPaste("Name: orders-1\nNamespace: shop\nControlled By:  Job/orders\nStart Time: x\n")
	require.ErrorIs(t, err, ErrOtherPaste)
	pastes, err = ReadPaste(strings.Join(pollLines(0, "orders", 1, 0, 0), "\n"))
	require.NoError(t, err)
	require.Nil(t, pastes)
	l := Read(`2026-01-02T10:00:36Z	INFO	scaleexecutor	Successfully set ScaleTarget replica count	{"scaledobject.Name": "web", "type": "ScaledObject"}`)
	require.Contains(t, strings.Join(Explain(l, Question{}).Notes, " "), "all lines are about ScaledObjects")
}

// TestUnknownErrors shows errors that no rule knows, once with their number, without credentials.
func TestUnknownErrors(t *testing.T) {
	odd := "2026-01-02T10:00:05Z\tERROR\tx\tSomething odd\t{\"scaledJob.Name\": \"orders\", \"scaledJob.Namespace\": \"shop\", \"error\": \"no idea, password=hunter2\"}"
	operator := "2026-01-02T10:00:06Z\tERROR\tsetup\tno space\t{\"error\": \"disk full\"}"
	other := "2026-01-02T10:00:06Z\tERROR\tx\tbad\t{\"name\": \"web\", \"error\": \"of a ScaledObject\"}"
	lines := append(pollLines(0, "orders", 1, 0, 0), odd, odd, operator, other)
	r := Explain(Read(strings.Join(lines, "\n")), Question{})
	var b strings.Builder
	r.Print(&b)
	require.Contains(t, b.String(), `2 times: error: "Something odd: no idea, password=***"`)
	require.Contains(t, b.String(), `error of the operator: "no space: disk full"`)
	require.NotContains(t, b.String(), "of a ScaledObject")
	require.NotContains(t, b.String(), "hunter2")
}

// TestNoDemand has polls that a minimum keeps active: at T=0 no strategy is at fault.
func TestNoDemand(t *testing.T) {
	for _, strategy := range []string{"default", "accurate", "eager"} {
		spec := manifest.Objects([]byte(strings.Replace(strings.Replace(pastScaledJob, "spec: {", "spec: {minReplicaCount: 2, scalingStrategy: {strategy: "+strategy+"}, ", 1), "spec:\n", "spec:\n  minReplicaCount: 2\n  scalingStrategy: {strategy: "+strategy+"}\n", 1)))[0].ScaledJob
		require.NotNil(t, spec.Spec.MinReplicaCount)
		lines := each(pollLines(0, "orders", 2, 0, 1), func(_ int, l string) string { return strings.ReplaceAll(l, `obs": 1`, `obs": 0`) })
		a := Explain(Read(strings.Join(lines, "\n")), Question{Manifests: []*manifest.ScaledJob{spec}, Release: "2.13"}).Subjects[0]
		require.Equal(t, "no-demand", a.Causes[0].ID, "%s: %s", strategy, a.Answer)
		require.Contains(t, a.Answer, "at its activation value, or unreadable")
		require.NotContains(t, a.Answer, "maxReplicaCount")
	}
}

// TestReleaseRange has lines of several releases, of which some write no line about a failed trigger.
func TestReleaseRange(t *testing.T) {
	text := strings.Join(pollLines(0, "orders", 1, 0, 0)[:2], "\n") + "\n" + strings.Join(pollLines(30, "orders", 1, 0, 0)[:2], "\n") + "\n" + strings.Join(pollLines(60, "orders", 1, 0, 0)[:2], "\n")
	r := Explain(Read(text), Question{})
	require.Contains(t, r.Release, " to ")
	known := Explain(Read(text), Question{Release: "2.21"}).Subjects[0]
	var last *Cause
	for _, g := range known.Groups {
		if g.Cause != nil {
			last = g.Cause
		}
	}
	require.Equal(t, &known.Causes[0], last, "the timeline and the answer")
}
