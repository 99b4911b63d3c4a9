package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
)

// What a member says about a Job, and the hub about a status, is harmless in conditions, events and the log.
func TestHostileAnswer(t *testing.T) {
	b := newBench(t, "a")
	b.create = processtest.Hostile
	for range 3 {
		b.poll(t.Context())
	}
	u, err := b.home.Resource(api.Jobs).Namespace("shop").Get(t.Context(), "work", v1.GetOptions{})
	require.NoError(t, err)
	status, err := json.Marshal(u.Object["status"])
	require.NoError(t, err)
	b.home.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, processtest.Hostile() })
	b.poll(t.Context())
	texts := []string{string(status), b.log.String()}
	for said := b.recorder.(*events.FakeRecorder).Events; len(said) > 0; {
		texts = append(texts, <-said)
	}
	processtest.RequireHarmless(t, texts...)
	require.Contains(t, string(status), "403 Forbidden")
}

// What an API server answers to any request of the program is harmless in its log.
func TestHostileServer(t *testing.T) {
	processtest.RunHostile(t, newOptions(), "-namespace=tenant", "-dsj", "-dso")
	kubeconfig := processtest.HostileServer(t)
	for _, args := range [][]string{{"list-orphans", "a"}, {"list-members"}, {"setup-member", "a", "--member-kubeconfig", kubeconfig}} {
		var out, problem bytes.Buffer
		klog.SetSlogLogger(process.Log{}.To(&problem)) // client-go writes warnings there
		defer klog.ClearLogger()
		require.Equal(t, 1, run(t.Context(), append(args, "--keda-kubeconfig", kubeconfig), streams{&out, &problem}))
		processtest.RequireHarmless(t, out.String()+problem.String())
	}
}
