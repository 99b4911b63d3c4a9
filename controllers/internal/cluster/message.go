package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	clientevents "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
)

// Events returns a broadcaster that writes an event that repeats once more, with its count: a controller
// would need the right to patch events to count it in the first.
func Events(client clientevents.EventsV1Interface) events.EventBroadcaster {
	return events.NewBroadcaster(&sink{events.EventSinkImpl{Interface: client}})
}

type sink struct{ events.EventSinkImpl }

func (s *sink) Patch(ctx context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	e = e.DeepCopy()
	e.ResourceVersion, e.UID = "", ""
	e.Name = fmt.Sprintf("%s.%x", e.Regarding.Name, time.Now().UnixNano())
	return s.Create(ctx, e)
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
