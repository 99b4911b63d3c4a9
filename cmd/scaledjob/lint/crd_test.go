package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/crd"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// A field that the CRD of a release does not have is found if the release is named.
func TestFieldsOfReleases(t *testing.T) {
	for _, tt := range []struct{ release, added, want string }{
		{"2.8", "podFailurePolicy: {rules: []}", "podFailurePolicy Use KEDA 2.9 or later"},
		{"2.9", "podFailurePolicy: {rules: []}", ""},
		{"2.11", "podReplacementPolicy: Failed", "podReplacementPolicy Use KEDA 2.12 or later"},
		{"2.1", "podReplacementPolicy: Failed", ""}, // its CRD is unknown
		{"2.15", "template: {spec: {resourceClaims: [{name: gpu, resourceClaimName: gpu}]}}", "template.spec.resourceClaims[0].resourceClaimName Use KEDA 2.16 or later"},
		{"2.15", "template: {spec: {resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]}}", ""},
		{"2.16", "template: {spec: {resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]}}", "template.spec.resourceClaims[0].source Move what is below it to spec.jobTargetRef.template.spec.resourceClaims[0]"},
		{"2.15", "template: {metadata: {labels: {a: b}}}", ""}, // KEDA's patch keeps them
	} {
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec:\n  jobTargetRef: {" + tt.added + "}\n"
		r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}, release(t, tt.release))
		var found []string
		for _, f := range r.Findings {
			if f.Rule == "unsupported-feature" || f.Rule == "unknown-field" {
				found = append(found, strings.TrimPrefix(f.Path, "spec.jobTargetRef.")+" "+f.Fix)
			}
		}
		require.Equal(t, tt.want != "", len(found) == 1, "%+v %v", tt, found)
		if tt.want != "" {
			require.Contains(t, found[0], tt.want)
		}
	}
}

// The CRDs of 2.0, 2.1 and 2.6 are unknown: a field that may be there is not missing.
func TestReleasesWithoutCRD(t *testing.T) {
	spec := crd.Kind("TriggerAuthentication").Field("spec")
	for field, want := range map[string]map[string]bool{
		"azureKeyVault":    {"2": true, "2.1.0": true, "2.5.0": false, "2.6.1": true, "2.7.1": true, "": true},
		"awsSecretManager": {"2.1.0": true, "2.6.1": false, "2.12.1": false, "2.13.1": true},
	} {
		for release, has := range want {
			require.Equal(t, has, spec.Field(field).In(release), "%s in %q", field, release)
		}
	}
	require.False(t, spec.Field("other").In("2.6.1"))
}
