package lint

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// inAuthentication is the rule of KEDA's webhook for TriggerAuthentications.
var inAuthentication = Rule{"authentication-rejected", Error, "KEDA rejects the TriggerAuthentication: fields exclude or require each other"}

// webhook is the consequence.
const webhook = "KEDA's webhook rejects it; without the webhook, KEDA never polls"

// An exclusion is a condition under which KEDA rejects a TriggerAuthentication.
type exclusion struct {
	field  string // with dots between the keys, below spec
	met    func(d spec) bool
	reason string
	fix    string
}

var authenticationExclusions = []exclusion{
	{"podIdentity.roleArn", func(d spec) bool {
		return d.text("podIdentity.provider") == "aws" && d.text("podIdentity.roleArn") != "" && d.text("podIdentity.identityOwner") == "workload"
	}, "roleArn and identityOwner workload exclude each other", "Delete one of the two"},
	{"podIdentity.externalID", func(d spec) bool {
		return d.text("podIdentity.provider") == "aws" && d.text("podIdentity.externalID") != "" && d.text("podIdentity.roleArn") == ""
	}, "externalID needs roleArn", "Add roleArn"},
	{"podIdentity.identityId", func(d spec) bool {
		return d.text("podIdentity.provider") == "azure-workload" && d.exists("podIdentity.identityId") && d.text("podIdentity.identityId") == ""
	}, "it is empty", "Write the client's ID, or delete the field"},
	{"podIdentity.identityAuthorityHost", func(d spec) bool {
		return d.text("podIdentity.provider") == "azure-workload" && d.text("podIdentity.identityAuthorityHost") != "" && d.text("podIdentity.identityTenantId") == ""
	}, "identityAuthorityHost needs identityTenantId", "Add identityTenantId"},
	{"oauth2.tokenUrl", func(d spec) bool {
		u, err := url.Parse(d.text("oauth2.tokenUrl"))
		return !d.replacedLater("oauth2.tokenUrl") && d.exists("oauth2.tokenUrl") && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"))
	}, "it is not a URL", "Write a URL such as https://login.example.com/token"},
	{"azureServicePrincipal", func(d spec) bool {
		return d.exists("azureServicePrincipal") && d.exists("azureServicePrincipal.clientSecret") == d.exists("azureServicePrincipal.clientCertificate")
	}, "it needs either clientSecret or clientCertificate", "Use one of the two"},
	{"azureServicePrincipal.clientCertificatePassword", func(d spec) bool {
		return d.exists("azureServicePrincipal.clientCertificatePassword") && !d.exists("azureServicePrincipal.clientCertificate")
	}, "it needs clientCertificate", "Add clientCertificate, or delete the field"},
	{"azureServicePrincipal.activeDirectoryEndpoint", func(d spec) bool {
		private := strings.EqualFold(d.text("azureServicePrincipal.cloud"), "Private")
		return d.exists("azureServicePrincipal") && !d.replacedLater("azureServicePrincipal.cloud") && private != (d.text("azureServicePrincipal.activeDirectoryEndpoint") != "")
	}, "activeDirectoryEndpoint and cloud Private need each other", "Add both, or delete both"},
}

// A spec is the spec of a document, whose fields are paths with dots.
type spec struct{ *document }

func (s spec) steps(path string) []any {
	steps := []any{"spec"}
	for key := range strings.SplitSeq(path, ".") {
		steps = append(steps, key)
	}
	return steps
}

func (s spec) text(path string) string { return s.document.text(s.steps(path)...) }
func (s spec) exists(path string) bool { return s.node(s.steps(path)...) != nil }

func (c *collector) excluded(d *document) {
	s := spec{d}
	for _, e := range authenticationExclusions {
		if e.met(s) {
			c.add(inAuthentication, d.place(s.steps(e.field)...), e.fix, effect{text: e.reason + ", so " + webhook})
		}
	}
	if d.kind() == "TriggerAuthentication" && s.text("filePath") != "" {
		c.add(inAuthentication, d.place("spec", "filePath"), "Write kind: ClusterTriggerAuthentication", effect{text: "only a ClusterTriggerAuthentication has filePath, so KEDA never polls"})
	}
}

// groups are the kinds of KEDA and of this project, by their group.
var groups = map[string][]string{
	"keda.sh":             {"ScaledJob", "ScaledObject", "TriggerAuthentication", "ClusterTriggerAuthentication", "KedaController"},
	"scaledjob.github.io": {"ScheduledJob", "RunRequest"},
}

// misspelled reports a kind that its group does not have, and a group or version in place of one of groups, or none.
// A ScaledJob and its companions have checks of their own.
func (c *collector) misspelled(d *document) {
	version, kind := d.text("apiVersion"), d.kind()
	group, _, _ := strings.Cut(version, "/")
	meant := group
	for name, kinds := range groups {
		if (version == "" && nearest(kind, kinds) != "") || (len(group) < 2*len(name) && triggers.Misspells(group, name)) {
			meant = name
		}
	}
	kinds := groups[meant]
	expected := slices.Contains(kinds, kind)
	switch {
	case version == "" && d.node("metadata") == nil: // it may be no object of Kubernetes
	case kind == "ScaledObject" && group == "keda.sh" && d.node("spec", "jobTargetRef") != nil:
		c.add(wrongKind, d.place("kind"), "Write ScaledJob", effect{text: "a ScaledObject has no jobTargetRef, so " + refusal})
	case kind == "ScaledObject" && group == "keda.k8s.io" && d.text("spec", "scaleType") == "job":
		c.add(wrongKind, d.place("kind"), "Write kind: ScaledJob and apiVersion: keda.sh/v1alpha1, without scaleType",
			effect{text: "KEDA 2 does not read this form of KEDA 1 and creates no Job"})
	case kind == "" || d.isScaledJob() || (companions[kind] != nil && meant == "keda.sh"):
	case group == meant && kinds != nil && !expected:
		c.add(wrongKind, d.place("kind"), oneOf(kind, kinds), effect{text: group + " has no such kind, so " + refusal})
	case version != meant+"/v1alpha1" && (expected || (group != meant && nearest(kind, kinds) != "")):
		c.add(wrongVersion, d.place("apiVersion"), "Write "+meant+"/v1alpha1", effect{text: "the API server rejects it, or takes it for another kind of object"})
	}
}

// others checks the other objects that a ScaledJob uses.
func (c *collector) others() {
	visited := map[string]place{}
	for _, d := range c.objects.kept {
		version, kind := d.text("apiVersion"), d.kind()
		if want := apiVersions[kind]; want != "" && version != want && !d.foreign() {
			if version == "" && d.node("metadata") == nil { // it may be no object of Kubernetes
				continue
			}
			r := wrongVersion
			if slices.Contains(ofKubernetes, kind) && !c.objects.used[d] {
				r.Severity = Note
			}
			c.add(r, d.place("apiVersion"), "Write "+want, effect{text: "the API server rejects it, or takes it for another kind of object"})
		}
		object := companions[kind]
		if object == nil || d.foreign() {
			continue
		}
		if d.node(encrypted) == nil {
			c.read(d, kind, object())
		}
		if strings.HasSuffix(kind, "TriggerAuthentication") {
			c.excluded(d)
		}
		// Files may belong to different clusters.
		name := strings.Join([]string{d.file, kind, d.text("metadata", "namespace"), d.text("metadata", "name")}, "/")
		if first, ok := visited[name]; ok && d.text("metadata", "name") != "" {
			c.add(duplicateObject, d.place("metadata", "name"), "Delete one of the two, or merge them",
				effect{text: fmt.Sprintf("line %d has another %s of this name, and the one that is applied last wins", first.line, kind)})
		}
		visited[name] = d.place("metadata", "name")
	}
}

// apiVersions are the versions of the kinds that lint looks up.
var apiVersions = map[string]string{
	"ConfigMap": "v1", "PersistentVolumeClaim": "v1", "Secret": "v1", "ServiceAccount": "v1",
	"TriggerAuthentication": "keda.sh/v1alpha1", "ClusterTriggerAuthentication": "keda.sh/v1alpha1",
}
