package triggers

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// platformRules are the rules of triggers for platforms and build systems.
var platformRules = []Rule{
	{[]string{"github-runner"}, "InstallationID", "2.18", accepted(polls, notNegative("installationID"))},
	{[]string{"github-runner"}, "ApplicationID", "2.18", accepted(polls, notNegative("applicationID"))},
	{[]string{"selenium-grid"}, "NodeMaxSessions", "2.18", accepted("KEDA asks for a wrong number of Jobs", atLeast("nodeMaxSessions", 1))},
	{[]string{"selenium-grid"}, "parseCapabilitiesToMap", "2.18", accepted("KEDA does not match any session", jsonObject("capabilities"))},
	{[]string{"github-runner"}, "no personalAccessToken", "2.18", oneOf("personalAccessToken", "appKey", "bearerToken")},
	{[]string{"github-runner"}, "no applicationID given", "2.18", gitHubApp},
	{[]string{"kubernetes-workload"}, "error parsing pod selector", "2.18", matches("podSelector", "is not a label selector", "Write a label selector, such as app=worker or app in (a, b)", isSelector)},
	{[]string{"kubernetes-resource"}, "valueLocation is required for %s format", "2.21", needs(isSet("format", "json", "yaml"), "with this format", "valueLocation")},
	{[]string{"openstack-metric"}, "authURL doesn't exist in the authParams", "2.18", needs(unconditional, "in the TriggerAuthentication", "authURL")},
	{[]string{"openstack-metric", "openstack-swift"}, "authURL is invalid", "2.18", urls("authURL", "", "")},
	{[]string{"openstack-metric"}, "neither userID or appCredentialSecretID exist", "2.18", oneOf("userID password", "appCredentialSecret")},
	{[]string{"openstack-swift"}, "password must be specified when using userID", "2.20", needs(provided("userID"), "with userID", "password", "projectID")},
	{[]string{"openstack-swift"}, "appCredentialSecret must be specified when using appCredentialID", "2.20", needs(conjunction(missing("userID"), provided("appCredentialID")), "with appCredentialID", "appCredentialSecret")},
	{[]string{"openstack-swift"}, "either userID or appCredentialID must be specified", "2.20", oneOf("userID", "appCredentialID")},
	{[]string{"kubernetes-resource"}, "valueLocation is only supported with json or yaml format", "2.21",
		func(c *checker) fault {
			if c.equals("format", "number") && c.hasAll("valueLocation") {
				return fault{key: "valueLocation", text: "format number has no valueLocation", fix: "Delete valueLocation, or write format: json"}
			}
			return fault{}
		}},
}

func isSelector(text string) bool { _, err := labels.Parse(text); return err == nil }

func gitHubApp(c *checker) fault {
	names := []string{"applicationID", "installationID", "appKey"}
	i := slices.IndexFunc(names, func(name string) bool { return c.absent(name) })
	if i < 0 || !slices.ContainsFunc(names, func(name string) bool { return c.hasAll(name) }) {
		return fault{}
	}
	return fault{key: names[i], text: "a GitHub App needs " + names[i], fix: c.ways(names[i])}
}
