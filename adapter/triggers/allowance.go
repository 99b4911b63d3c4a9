package triggers

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/field"
)

// An Allowance allows a way of authentication, or a type of trigger, that is off otherwise.
type Allowance struct {
	// Kind is aws, aws-eks, azure-workload or gcp (identities of pods), vault, azure-key-vault,
	// aws-secret-manager or gcp-secret-manager, file, token (bound to a ServiceAccount),
	// credentials-file, external or external-push.
	Kind string
	// Namespaces may use it. "*" stands for all.
	Namespaces []string
	// Hosts are the hosts that the triggers may name, or the origins of Vault. A host that begins
	// with "*." stands for all below it. Without hosts, a trigger that names one is refused.
	Hosts []string
}

// kinds are what is off by default, with its name in errors.
var kinds = map[string]string{
	"aws": "podIdentity aws", "aws-eks": "podIdentity aws-eks", "azure-workload": "podIdentity azure-workload", "gcp": "podIdentity gcp",
	"vault": "hashiCorpVault", "azure-key-vault": "azureKeyVault", "aws-secret-manager": "awsSecretManager", "gcp-secret-manager": "gcpSecretManager",
	"file": "filePath", "token": "boundServiceAccountToken", "credentials-file": "credentialsFromEnvFile",
	"external": "type external", "external-push": "type external-push",
}

// ParseAllowance reads KIND=NAMESPACE,NAMESPACE@HOST,HOST. The hosts may be absent.
func ParseAllowance(text string) (Allowance, error) {
	kind, rest, _ := strings.Cut(text, "=")
	namespaces, hosts, _ := strings.Cut(rest, "@")
	a := Allowance{Kind: kind, Namespaces: list(namespaces), Hosts: list(hosts)}
	return a, a.check()
}

// check returns an error that would end each worker, or that allows nothing.
func (a Allowance) check() error {
	if kinds[a.Kind] == "" || len(a.Namespaces) == 0 {
		return &field.Error{Path: "allowance", Found: fmt.Sprintf("%q", a.Kind), Fix: "KIND=NAMESPACES[@HOSTS] with one of the kinds " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")}
	}
	for _, h := range a.Hosts {
		if a.Kind == "vault" && (origin(h) == "" || strings.Contains(h, "*") || !strings.EqualFold(origin(h), strings.TrimSuffix(h, "/"))) {
			return &field.Error{Path: "allowance", Found: fmt.Sprintf("%q", h), Fix: "the origin of Vault, such as https://vault.example:8200"}
		}
	}
	return nil
}

// origin returns the scheme, host and port of an address, or "".
func origin(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkAudience returns an error that would end each worker.
func checkAudience(account, audience string) error {
	namespace, name, _ := strings.Cut(account, "/")
	if audience == "" || audience != strings.TrimSpace(audience) || len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return &field.Error{Path: "audience", Found: fmt.Sprintf("%q", account+"="+audience), Fix: "NAMESPACE/SERVICEACCOUNT=AUDIENCE"}
	}
	return nil
}

func list(text string) (all []string) {
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

func (a Allowance) serves(namespace string) bool {
	return slices.Contains(a.Namespaces, namespace) || slices.Contains(a.Namespaces, "*")
}

// allowed returns the hosts of the allowances of a kind for a namespace, never nil, or an error
// that names the flag.
func (o *Options) allowed(kind, namespace string) ([]string, error) {
	hosts, found := []string{}, false
	for _, a := range o.Allow {
		if a.Kind == kind && a.serves(namespace) {
			hosts, found = append(hosts, a.Hosts...), true
		}
	}
	if !found {
		return nil, fmt.Errorf("found %s, which is off; the administrator may allow it with the flag -allow-trigger %s=%s@HOSTS", kinds[kind], kind, namespace)
	}
	return hosts, nil
}
