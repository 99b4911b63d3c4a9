package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
)

// An event that repeats needs no right but to create events.
func TestEvents(t *testing.T) {
	client := fake.NewClientset()
	broadcaster := Events(client.EventsV1())
	defer broadcaster.Shutdown()
	require.NoError(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a"}}
	for _, reason := range []string{"Repeats", "Repeats", "Last"} {
		broadcaster.NewRecorder(scheme.Scheme, "a").Eventf(about, nil, corev1.EventTypeNormal, reason, reason, "text")
		time.Sleep(100 * time.Millisecond)
	}
	require.Eventually(t, func() bool { return len(client.Actions()) == 3 }, 10*time.Second, 10*time.Millisecond)
	for _, action := range client.Actions() {
		require.Equal(t, "create", action.GetVerb())
	}
	list, err := client.EventsV1().Events("a").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 3, "names of their own")
}

func TestCut(t *testing.T) {
	require.Equal(t, "abc", Cut("abc", 3))
	require.Equal(t, "a…", Cut("abcde", 4))
	require.Equal(t, "ä…", Cut("ääää", 6), "not within a character")
	require.Len(t, EventMessage(strings.Repeat("a", 40_000)), 1024)
}
