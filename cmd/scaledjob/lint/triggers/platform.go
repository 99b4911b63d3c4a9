package triggers

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// platformRules are the rules of triggers for platforms and build systems.
var platformRules = family{
	oddities: []Rule{
		{[]string{"github-runner"}, "InstallationID", "2.18", atLeast("installationID", 0), polls},
		{[]string{"github-runner"}, "ApplicationID", "2.18", atLeast("applicationID", 0), polls},
		{[]string{"selenium-grid"}, "NodeMaxSessions", "2.18", atLeast("nodeMaxSessions", 1), "KEDA counts wrongly"},
		{[]string{"selenium-grid"}, "parseCapabilitiesToMap", "2.18", jsonObject("capabilities"), "KEDA does not match any session"},
	},
	refusals: []refusal{
		{[]string{"github-runner"}, "no personalAccessToken", "2.18", oneOf("personalAccessToken", "appKey", "bearerToken")},
		{[]string{"github-runner"}, "no applicationID given", "2.18", gitHubApp},
		{[]string{"kubernetes-workload"}, "error parsing pod selector", "2.18", matches("podSelector", "a label selector, such as app=worker or app in (a, b)", isSelector)},
		{[]string{"kubernetes-resource"}, "valueLocationRequiredMsg", "2.21", needs(isSet("format", "json", "yaml"), "with this format", "valueLocation")},
		{[]string{"openstack-metric"}, "authURL doesn't exist in the authParams", "2.18", needs(anyway, "in the TriggerAuthentication", "authURL")},
		{[]string{"openstack-metric"}, "neither userID or appCredentialSecretID exist", "2.18", oneOf("userID password", "appCredentialSecret")},
		{[]string{"openstack-swift"}, "password must be specified when using userID", "2.20", needs(given("userID"), "with userID", "password", "projectID")},
		{[]string{"openstack-swift"}, "appCredentialSecret must be specified when using appCredentialID", "2.20", needs(all(without("userID"), given("appCredentialID")), "with appCredentialID", "appCredentialSecret")},
		{[]string{"openstack-swift"}, "either userID or appCredentialID must be specified", "2.20", oneOf("userID", "appCredentialID")},
		{[]string{"kubernetes-resource"}, "valueLocation is only supported with json or yaml format", "2.21",
			func(c *checker) (string, string, string) {
				if c.is("format", "number") && c.given("valueLocation") {
					return "valueLocation", "format number has no valueLocation", "Delete valueLocation, or write format: json"
				}
				return "", "", ""
			}},
	},
}

func isSelector(text string) bool { _, err := labels.Parse(text); return err == nil }

func gitHubApp(c *checker) (string, string, string) {
	names := []string{"applicationID", "installationID", "appKey"}
	if !slices.ContainsFunc(names, func(name string) bool { return c.given(name) }) {
		return "", "", ""
	}
	for _, name := range names {
		if c.absent(name) {
			return name, "a GitHub App needs " + name, c.ways(name)
		}
	}
	return "", "", ""
}
