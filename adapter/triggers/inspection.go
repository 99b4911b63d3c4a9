package triggers

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/check"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

var errOtherWorker = errors.New("the trigger needs a worker with an identity")

// inspect checks each way of authentication, and notes the objects that it refers to. Without a
// restriction of hosts, they are nil.
func (p *policy) inspect(spec map[string]any, cluster bool) (hosts []string, withhold bool, err error) {
	i := inspection{policy: p, class: p.own, refs: map[string][]string{}, namespace: p.owner.Namespace}
	if cluster {
		i.namespace = p.ClusterNamespace
	}
	for key, value := range spec {
		if !empty(value) {
			i.way(key, value)
		}
	}
	walk(spec, i.nested)
	if err := errors.Join(i.problems...); err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i.class != p.class {
		p.class2 = &i.class
		return nil, false, errOtherWorker
	}
	p.refs = i.refs
	return i.hosts, i.withhold, nil
}

// An inspection holds what is found in an authentication.
type inspection struct {
	policy    *policy
	class     string
	namespace string              // of the objects that it refers to
	refs      map[string][]string // as in policy
	hosts     []string
	withhold  bool
	problems  []error
}

func (i *inspection) allow(kind string) {
	more, err := i.policy.allowed(kind, i.policy.owner.Namespace)
	i.hosts, i.problems = append(append([]string{}, i.hosts...), more...), append(i.problems, err)
}

func (i *inspection) refer(kind string, ref map[string]any) {
	name := key(kind, i.namespace, text(ref["name"]))
	i.refs[name] = append(i.refs[name], text(ref["key"]))
}

// sends refuses an address in a field to which the credentials of a kind may not go.
func (i *inspection) sends(kind, field string, to check.Parameter) {
	hosts, err := i.policy.allowed(kind, i.policy.owner.Namespace)
	if err == nil && check.Parameters("", []check.Parameter{to}, hosts) != nil {
		i.problems = append(i.problems, fmt.Errorf("spec.%s: found another address; the administrator may allow it with the flag -allow-trigger %s=%s@HOSTS", field, kind, i.policy.owner.Namespace))
	}
}

// token allows tokens of a ServiceAccount.
func (i *inspection) token(namespace, account string) {
	_, err := i.policy.audience(namespace, account)
	i.problems = append(i.problems, err)
	for _, kind := range []string{"ServiceAccount", wire.Token} {
		i.refs[key(kind, namespace, account)] = nil
	}
}

// way checks a way of authentication.
func (i *inspection) way(key string, value any) {
	all, _ := value.([]any)
	one, _ := value.(map[string]any)
	for kind, name := range kinds {
		if name == key && kind != "vault" {
			i.allow(kind)
			i.sends(kind, key+".vaultUri", check.Parameter{Name: "vaultUri", Value: text(one["vaultUri"])})
			i.sends(kind, key+".region", check.Parameter{Name: "awsRegion", Value: text(one["region"])})
		}
	}
	switch key {
	case "secretTargetRef", "configMapTargetRef":
		kind := map[string]string{"secretTargetRef": "Secret", "configMapTargetRef": "ConfigMap"}[key]
		for _, one := range all {
			ref, _ := one.(map[string]any)
			i.refer(kind, ref)
		}
	case "env", "filePath":
	case "podIdentity", "oauth2", "azureServicePrincipal": // see nested
	case "hashiCorpVault":
		i.withhold = true
		origins, err := i.policy.allowed("vault", i.policy.owner.Namespace)
		if at := origin(text(one["address"])); err == nil && !slices.ContainsFunc(origins, func(o string) bool { return origin(o) == at }) {
			err = errors.New("found another Vault; the administrator may allow it with the flag -allow-trigger vault=" + i.policy.owner.Namespace + "@ORIGIN")
		}
		i.problems = append(i.problems, err)
		credential, _ := one["credential"].(map[string]any)
		if account := text(credential["serviceAccountName"]); account != "" {
			i.token(i.policy.owner.Namespace, account)
		}
	case "azureKeyVault", "awsSecretManager", "gcpSecretManager":
		i.withhold = true
	case "boundServiceAccountToken":
		for _, one := range all {
			ref, _ := one.(map[string]any)
			i.token(i.namespace, text(ref["serviceAccountName"]))
		}
	default:
		i.problems = append(i.problems, fmt.Errorf("spec.%s: found a way of authentication that is not known", key))
	}
}

// nested checks an object at any depth.
func (i *inspection) nested(key string, value map[string]any) {
	switch provider := text(value["provider"]); {
	case key == "secretKeyRef":
		i.refer("Secret", value)
	case key != "podIdentity" || provider == "" || provider == "none":
	case kinds[provider] == "" || !strings.HasPrefix(kinds[provider], "podIdentity"):
		i.problems = append(i.problems, fmt.Errorf("spec.podIdentity.provider: found %q; use %s", provider, strings.Join(slices.Sorted(maps.Keys(identities)), ", ")))
	default:
		i.class = provider
		i.allow(provider)
		i.sends(provider, "podIdentity.identityAuthorityHost", check.Parameter{Name: "identityAuthorityHost", Value: text(value["identityAuthorityHost"])})
		if tenant := text(value["identityTenantId"]); !tenants.MatchString(tenant) { // it is a part of an address
			i.problems = append(i.problems, fmt.Errorf("spec.podIdentity.identityTenantId: found %q; use the ID or a domain of the tenant", tenant))
		}
	}
}

// tenants matches what Azure takes as the ID or a domain of a tenant.
var tenants = regexp.MustCompile(`^[0-9A-Za-z.-]*$`)

func text(value any) string {
	s, _ := value.(string)
	return s
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// walk calls do for each object below value, with its key.
func walk(value any, do func(key string, object map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if object, ok := below.(map[string]any); ok {
				do(key, object)
			}
			walk(below, do)
		}
	case []any:
		for _, below := range v {
			walk(below, do)
		}
	}
}
