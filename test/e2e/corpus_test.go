package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var corpusTo = flag.String("corpus", "", "`file` to write: cmd/scaledjob/lint/testdata/operator.txt")

// TestCorpus applies each manifest of lint's corpora in a namespace of its own, and writes what the API
// server and KEDA's operator say. Each line has the file, the state, and the message if there is one:
//
//	unparsed     not YAML, or no ScaledJob
//	refused      by the API server
//	strict       by the API server if it checks for unknown fields, as kubectl lets it
//	not-ready    the operator rejects the ScaledJob
//	unreachable  the operator rejects the ScaledJob because a server does not answer, as none is there
//	failed       polled, and a scaler fails
//	polled
func TestCorpus(t *testing.T) {
	if *corpusTo == "" {
		t.Skip("use -corpus FILE")
	}
	root := filepath.Join(process.Dir(t, "cmd/scaledjob/lint"), "testdata/corpus")
	files, err := filepath.Glob(filepath.Join(root, "*/*.yaml"))
	require.NoError(t, err)
	t.Setenv("KEDA_SCALEDJOB_CTRL_MAX_RECONCILES", "40")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	c := cluster.Start(t)
	o := operator.Start(t, c, "--kube-api-qps=1000", "--kube-api-burst=1000")
	states := map[string]string{}
	spaces := map[string]string{} // namespace by file
	for i, file := range files {
		name, err := filepath.Rel(root, file)
		require.NoError(t, err)
		namespace := fmt.Sprintf("c-%d", i)
		manifest.Apply(t, c.Config(), manifest.Objects(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")...)
		if state := applied(t, c, manifest.Read(t, file), namespace); state != "" {
			states[name] = state
		}
		if !strings.HasPrefix(states[name], "refused") && !strings.HasPrefix(states[name], "unparsed") {
			spaces[name] = namespace
		}
	}
	time.Sleep(150 * time.Second)
	log := o.Log(t)
	for name, namespace := range spaces {
		if states[name] == "" {
			states[name] = said(log, namespace, triggerError(t, c, namespace))
		}
	}
	var b strings.Builder
	for name, state := range states {
		fmt.Fprintf(&b, "%s %s\n", name, strings.ReplaceAll(strings.Join(strings.Fields(state), " "), namespaceOf(spaces, name), "NAMESPACE"))
	}
	lines := strings.SplitAfter(b.String(), "\n")
	slices.Sort(lines)
	require.NoError(t, os.WriteFile(*corpusTo, []byte(strings.Join(lines, "")), 0o644))
}

func namespaceOf(spaces map[string]string, name string) string {
	if n := spaces[name]; n != "" {
		return n
	}
	return "\x00"
}

// applied creates the objects, and returns a state if they are not all accepted.
func applied(t *testing.T, c *cluster.Cluster, text, namespace string) (state string) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	found := false
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "unparsed " + err.Error()
		}
		if !slices.Contains([]string{"ScaledJob", "TriggerAuthentication", "Secret", "ConfigMap"}, o.GetKind()) || o.GetAPIVersion() != "v1" && !strings.HasPrefix(o.GetAPIVersion(), "keda.sh/v1") {
			continue
		}
		found = found || o.GetKind() == "ScaledJob"
		o.SetNamespace(namespace)
		if o.GetAPIVersion() != "v1" && o.GetAPIVersion() != "keda.sh/v1alpha1" {
			return "refused no such version " + o.GetAPIVersion()
		}
		client := manifest.Client(t, c.Config(), o)
		_, err = client.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil && o.GetKind() == "ScaledJob" {
			state = "strict " + err.Error()
			_, err = client.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: "Ignore"})
		}
		if err != nil && o.GetKind() == "ScaledJob" {
			return "refused " + err.Error()
		}
	}
	if !found {
		return "unparsed no ScaledJob"
	}
	return state
}

// said returns the state that the operator's log shows of the ScaledJob of a namespace.
func said(log, namespace, failed string) string {
	polled, rejected := false, ""
	for line := range strings.Lines(log) {
		switch {
		case !strings.Contains(line, `"`+namespace+`"`):
		case strings.Contains(line, "Number of running Jobs"):
			polled = true
		case strings.Contains(line, "Reconciler error"), strings.Contains(line, "Error getting scalers"):
			rejected = errorOf(line)
		}
	}
	switch {
	case polled && failed != "":
		return "failed " + failed
	case polled:
		return "polled"
	case rejected == "":
		return "unreachable no answer within the time"
	}
	for _, text := range []string{"no such host", "connection refused", "i/o timeout", "deadline exceeded", "dial tcp", "server misbehaving", "unreachable", "no route", "EOF", "timeout"} {
		if strings.Contains(rejected, text) {
			return "unreachable " + rejected
		}
	}
	return "not-ready " + rejected
}

// triggerError returns the reason for which the ScaledJob of a namespace is not ready while it is
// polled, or "".
func triggerError(t *testing.T, c *cluster.Cluster, namespace string) string {
	t.Helper()
	kind := manifest.Objects(t, "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: x, namespace: "+namespace+"}\n")[0]
	list, err := manifest.Client(t, c.Config(), kind).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, o := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, one := range conditions {
			condition, _ := one.(map[string]any)
			if reason, _ := condition["reason"].(string); condition["type"] == "Ready" && (strings.HasSuffix(reason, "TriggerError") || reason == "JobCreateFailed") {
				return fmt.Sprint(reason, " ", condition["message"])
			}
		}
	}
	return ""
}

func errorOf(line string) string {
	_, text, _ := strings.Cut(line, `"error":"`)
	text, _, _ = strings.Cut(text, `","stacktrace`)
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:160])
	}
	return text
}
