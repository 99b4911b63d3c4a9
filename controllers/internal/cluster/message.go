package cluster

import (
	"context"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	clientevents "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
)

// Events returns a broadcaster that does not count an event that repeats: a controller would need the
// right to patch events.
func Events(client clientevents.EventsV1Interface) events.EventBroadcaster {
	return events.NewBroadcaster(&sink{events.EventSinkImpl{Interface: client}})
}

type sink struct{ events.EventSinkImpl }

func (*sink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return e, nil
}

// EventMessage cuts a message to the length that the API server accepts in an event.
func EventMessage(message string) string { return Cut(message, 1024) }

// Cut returns at most n bytes of s.
func Cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(dots)], "") + dots
}
