package controller

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// What the API server says about a Job and a Secret is harmless in conditions, events and the log.
func TestHostileAnswer(t *testing.T) {
	benched(t, func(b *bench) {
		var log bytes.Buffer
		ctx := ctrl.LoggerInto(b.Context(), logr.FromSlogHandler(process.Log{}.To(&log).Handler()))
		b.kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &batchv1.Job{}, processtest.Hostile()
		})
		b.reconciles() // the Jobs become known
		var texts []string
		for _, unread := range []error{nil, processtest.Hostile()} {
			b.depth, b.unread = 47, unread
			_, err := b.Reconciler.Reconciler().Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())})
			require.NoError(b, err)
			synctest.Wait()
			status, err := json.Marshal(b.stored().Status)
			require.NoError(b, err)
			require.Contains(b, string(status), "403 Forbidden")
			texts = append(texts, string(status))
		}
		processtest.RequireHarmless(b, append(append(texts, b.told()...), log.String())...)
	}, scaledJob())
}
