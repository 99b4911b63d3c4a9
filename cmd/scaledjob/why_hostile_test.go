package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhyHostile has names of a manifest and of arguments that lead to other paths.
func TestWhyHostile(t *testing.T) {
	const secret = "../../../../../../api/v1/namespaces/kube-system/secrets/admin"
	for _, name := range []string{secret, "..", "x/../y", "a%2Fb", "a?b"} {
		server := &apiServer{answer: func(path, _ string) (int, any) {
			if path == "/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/orders" {
				return http.StatusOK, json.RawMessage(strings.Replace(whyScaledJob, `{"name": "secret"}`, `{"name": "`+name+`"}`, 1))
			}
			return http.StatusForbidden, nil
		}}
		config := server.start(t)
		var out, problems strings.Builder
		require.Equal(t, success, run(t.Context(), []string{"why", "orders", "-n", "shop", "--kubeconfig", config, "--output", "json"}, strings.NewReader(""), &out, &problems), problems.String())
		require.Contains(t, out.String(), name+`\" does not exist, and a trigger refers to it`)
		require.Equal(t, trouble, run(t.Context(), []string{"why", "scaledjob/" + name + "%", "-n", "shop", "--kubeconfig", config}, strings.NewReader(""), &out, &problems))
		require.Equal(t, trouble, run(t.Context(), []string{"why", "orders", "-n", secret, "--kubeconfig", config}, strings.NewReader(""), &out, &problems))
		asked := strings.Join(server.requests, "\n")
		require.NotContains(t, asked, "secrets")
		require.Equal(t, 1, strings.Count(asked, "triggerauthentications"), asked)
	}
}
