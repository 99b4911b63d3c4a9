package house

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// plain are the fields of text that refer to nothing: times, numbers, and words of a fixed set.
var plain = regexp.MustCompile(`(^|\.)(` + strings.Join([]string{
	`scalingStrategy\.(customScalingRunningJobPercentage|pendingPodConditions\[\])`, `triggers\[\]\.(type|metricType)`, `\w+\[\]\.parameter`,
	`schedule\.(timeSpec|cron|endTime)`, `cancel\[\]`, `backfill\.(from|to)`, `(templateRef|scaleTargetRef)\.apiVersion`,
	`failoverPolicy\.(gracePeriod|hardTaintDuration|softTaintDuration|lostAfter)`, `rebalancingPolicy\.(gracePeriod|progressDeadline)`,
	`scale(Up|Down)\.tolerance`, `scalingModifiers\.(target|activationTarget)`,
}, "|") + `)$`)

// named are the fields of a status that refer to something.
var named = regexp.MustCompile(`\.(name|namespace|kind|job|path|address)$`)

// references collects the fields of a schema that hold any text, or anything, and are not plain. Fields of
// any name are the field *.
func references(found map[string]bool, path string, schema map[string]any) {
	if schema["x-kubernetes-preserve-unknown-fields"] == true && path != "status" {
		found[strings.TrimPrefix(path+".*", ".")] = true
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		p, at := p.(map[string]any), strings.TrimPrefix(path+"."+name, ".")
		if items, ok := p["items"].(map[string]any); ok {
			p, at = items, at+"[]"
		} else if more, ok := p["additionalProperties"].(map[string]any); ok {
			p, at = more, at+"{}"
		}
		switch kind := p["type"]; {
		case p["properties"] != nil:
			references(found, at, p)
		case kind == "integer" || kind == "boolean" || kind == "number" || p["enum"] != nil || plain.MatchString(at):
		case strings.HasPrefix(at, "status.") && !named.MatchString(at):
		default:
			found[at] = true
		}
	}
}

// SECURITY.md has each field of the custom resources that may refer to something, with a test. A new
// field of text needs a row, or is plain, and each row has a field of the schema.
func TestFieldsAreGuarded(t *testing.T) {
	data, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		for _, field := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			rows[strings.TrimSpace(cells[1])+" "+field[1]] = cells[4]
		}
	}
	seen := 0
	for kind, file := range map[string]string{
		"ScaledJob": "scaledjob-controller/manifests/crds/scaledjobs.yaml", "TriggerAuthentication": "scaledjob-controller/manifests/crds/triggerauthentications.yaml",
		"ScheduledJob": "scheduled/manifests/crds/scheduledjobs.yaml", "RunRequest": "scheduled/manifests/crds/runrequests.yaml",
		"DistributedScaledJob": "multicluster/manifests/crds/distributedscaledjobs.yaml", "DistributedScaledObject": "multicluster/manifests/crds/distributedscaledobjects.yaml",
		"Redis ScaledJob": "redis-operator/config/crd/batch.miracle.dev_scaledjobs.yaml",
	} {
		data, err := os.ReadFile(filepath.Join("controllers", file))
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(data, &crd))
		found := map[string]bool{}
		require.Len(t, crd.Spec.Versions, 1)
		resource := crd.Spec.Versions[0].Schema.OpenAPIV3Schema["properties"].(map[string]any)
		spec, status := resource["spec"].(map[string]any), resource["status"].(map[string]any)
		if job, ok := spec["properties"].(map[string]any)["jobTemplate"].(map[string]any); ok {
			delete(job, "properties") // that of a CronJob
		}
		references(found, "", spec)
		references(found, "status", status)
		for _, field := range slices.Sorted(maps.Keys(found)) {
			t.Log(kind, field)
			if !strings.Contains(rows[kind+" "+field], "`Test") {
				t.Errorf("%s: %s: SECURITY.md has no row with a test", kind, field)
			}
			seen++
			delete(rows, kind+" "+field)
		}
		for row := range rows {
			if strings.HasPrefix(row, kind+" ") {
				t.Errorf("%s: SECURITY.md has a row for a field that is not there", row)
			}
		}
	}
	require.Greater(t, seen, 40)
}
