package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/schedule"
)

// A new controller whose list of ScheduledJobs has the first status starts nothing, even
// if the run and its Job have been dropped since.
func (s *stand) staleList(t *testing.T) {
	j := s.namespace(t, "stale")
	j.apply("job", "  schedule: {timeSpec: R1//PT1S}\n  historyLimit: 0\n"+pod(nil))
	first, err := j.dynamic.Resource(scheduledJobs).Namespace(j.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	list, err := json.Marshal(first.UnstructuredContent())
	require.NoError(t, err)
	p := j.controller()
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Equal(t, schedule.Completed, j.status(t).Last.Status)
		require.Empty(t, j.jobs(t))
		require.Empty(t, j.status(t).PendingDeletion)
	})
	p.Stop()
	g, kubeconfig := s.gated(t, func(*http.Request, bool) bool { return false })
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		query := r.URL.Query()
		switch {
		case r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/scheduledjobs"):
			return false
		case query.Get("sendInitialEvents") != "": // the client lists instead
			http.Error(w, "no initial events", http.StatusBadRequest)
		case query.Get("watch") != "":
			<-r.Context().Done() // no change is seen
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(list)
		}
		return true
	}
	j.controller("-kubeconfig", kubeconfig, "-resync=200ms")
	j.stays(5*time.Second, func(t require.TestingT) { require.Empty(t, j.jobs(t)) })
	require.Len(t, s.pods.of(j.namespace), 1)
}

// Of two controllers one acts. The other takes over when the first has stopped, and waits for
// nothing: a run that becomes due meanwhile starts within its deadline, which is shorter than
// the time in which a create of the first may arrive.
func (s *stand) elects(t *testing.T) {
	j := s.namespace(t, "elects")
	args := []string{"-namespace", j.namespace, "-leader-elect", "-lease-namespace=scheduledjob"}
	first := s.start(t, args...)
	first.Said("acting")
	second := s.start(t, args...)
	j.apply("job", pod(nil))
	j.request("one")
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.Equal(t, schedule.Completed, j.answer(t, "one").Status) })
	require.NotContains(t, second.Output(), "acting")
	due := time.Now().Add(4 * time.Second).Truncate(time.Second)
	j.apply("timely", "  schedule: {timeSpec: R1/"+due.UTC().Format(time.RFC3339)+"/PT1H}\n  startingDeadlineSeconds: 5\n"+pod(nil))
	j.becomes(60*time.Second, func(t *assert.CollectT) { require.NotNil(t, j.get(t, "timely").Status.NextScheduleTime) })
	time.Sleep(time.Until(due.Add(-500 * time.Millisecond)))
	first.Stop()
	second.Said("acting")
	acting := time.Since(due)
	j.request("two")
	j.becomes(60*time.Second, func(t *assert.CollectT) {
		require.Equal(t, schedule.Completed, j.answer(t, "two").Status)
		status := j.get(t, "timely").Status
		require.EqualValues(t, 1, status.Due)
		if acting < 3*time.Second { // not on a machine that is very slow
			require.Len(t, status.Completed, 1)
		}
	})
	t.Logf("the second acts %v after the run was due", acting)
}
