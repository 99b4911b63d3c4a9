package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Alerts, dashboard and README name metrics that the README describes and the code has. Each
// alert has a case.
func TestMonitoring(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(data)
	}
	code, readme := read("metrics.go"), read("README.md")
	cases := read("manifests/monitoring/alerts_test.yaml")
	metric := regexp.MustCompile(`scaledjob_[a-z_]+`)
	named := map[string]bool{}
	for _, file := range []string{"manifests/monitoring/alerts.yaml", "manifests/monitoring/dashboard.json", "README.md"} {
		for _, name := range metric.FindAllString(read(file), -1) {
			named[name] = true
			require.Contains(t, readme, "`"+name, "%s: %s", file, name)
			require.Contains(t, code, `"`+strings.TrimPrefix(name, "scaledjob_")+`"`, "%s: %s", file, name)
		}
	}
	require.GreaterOrEqual(t, len(named), 20)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read("manifests/monitoring/alerts.yaml")), &rules))
	n := 0
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			n++
			require.Contains(t, cases, "alertname: "+rule.Alert+"\n")
		}
	}
	require.GreaterOrEqual(t, n, 10)
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read("manifests/monitoring/dashboard.json")), &dashboard))
	require.Len(t, dashboard.Panels, 15)
}

// The alerts pass promtool's rule tests, where promtool is installed.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	said, err := exec.Command(promtool, "test", "rules", "manifests/monitoring/alerts_test.yaml").CombinedOutput()
	require.NoError(t, err, string(said))
}
