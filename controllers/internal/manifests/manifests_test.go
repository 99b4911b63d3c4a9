// Package manifests tests the manifests of all examples: least privilege, and nothing that a
// restricted namespace rejects.
package manifests

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// A shipped example: the file for one namespace, and the kustomization for all.
type shipped struct {
	tenant, cluster string
	more            []string // rules of the cluster variant that no Role for a namespace has
}

var all = map[string]shipped{
	"scaledjob":      {"scaledjob-controller/manifests/tenant/controller.yaml", "scaledjob-controller/manifests/cluster", nil},
	"scheduledjob":   {"scheduled/manifests/tenant/controller.yaml", "scheduled/manifests/cluster", nil},
	"multicluster":   {"multicluster/manifests/tenant/controller.yaml", "multicluster/manifests/cluster", []string{"get /namespaces kube-system"}},
	"redis-operator": {"redis-operator/config/tenant/operator.yaml", "redis-operator/config/cluster", nil},
}

func objects(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &u.Object))
		all = append(all, u)
	}
	return all
}

func (s shipped) one(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", s.tenant))
	require.NoError(t, err)
	return objects(t, string(data))
}

func (s shipped) every(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("../..", s.cluster))
	require.NoError(t, err)
	text, err := found.AsYaml()
	require.NoError(t, err)
	return objects(t, string(text))
}

func as[T any](t *testing.T, u *unstructured.Unstructured) (object T) {
	t.Helper()
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &object, true), u.GetName())
	return object
}

// rules returns each permission that Roles and ClusterRoles of the objects grant, by the
// namespace of the Role.
func rules(t *testing.T, all []*unstructured.Unstructured) map[string][]string {
	found := map[string][]string{}
	for _, u := range all {
		if u.GetKind() != "Role" && u.GetKind() != "ClusterRole" {
			continue
		}
		for _, r := range as[rbacv1.ClusterRole](t, u).Rules {
			require.Empty(t, r.NonResourceURLs)
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					permission := strings.TrimSpace(verb + " " + r.APIGroups[0] + "/" + resource + " " + strings.Join(r.ResourceNames, ","))
					found[u.GetNamespace()] = append(found[u.GetNamespace()], permission)
				}
			}
		}
	}
	return found
}

// A controller for a namespace has permissions there, and elsewhere for named objects only. The
// controller for all namespaces has the same permissions. Leases have names, and neither may read
// Secrets but the registrations of members, make tokens, or use a wildcard.
func TestLeastPrivilege(t *testing.T) {
	for name, s := range all {
		t.Run(name, func(t *testing.T) {
			one, every := rules(t, s.one(t)), rules(t, s.every(t))
			require.ElementsMatch(t, append(slices.Clone(one["tenant"]), s.more...), every[""])
			require.Empty(t, one[""], "permissions in the cluster")
			for _, u := range s.one(t) {
				require.NotRegexp(t, "^Cluster|CustomResource", u.GetKind())
			}
			checked := 0
			for _, granted := range []map[string][]string{one, every} {
				for namespace, permissions := range granted {
					for _, p := range permissions {
						named := len(strings.Fields(p)) == 3
						require.NotContains(t, strings.ReplaceAll(p, "external.metrics.k8s.io/*", ""), "*")
						require.NotContains(t, p, "serviceaccounts")
						require.NotContains(t, p, "escalate")
						if namespace != "tenant" && namespace != "" || strings.Contains(p, "secrets") {
							require.True(t, named || p == "create coordination.k8s.io/leases", "%s in %q", p, namespace)
							checked++
						}
					}
				}
			}
			require.GreaterOrEqual(t, checked, 6)
		})
	}
}

// Pods pass the policy restricted, which their namespace has. NetworkPolicies select them, and
// keep them from link-local addresses.
func TestRestricted(t *testing.T) {
	data, err := os.ReadFile("../../redis-operator/config/prometheus/networkpolicy.yaml")
	require.NoError(t, err)
	policy := as[networkingv1.NetworkPolicy](t, objects(t, string(data))[0]).Spec
	require.Len(t, policy.Ingress, 1)
	require.Len(t, policy.Ingress[0].From, 1, "nobody who is not named")
	metrics := policy.Ingress[0].From[0].NamespaceSelector
	for name, s := range all {
		for variant, objects := range map[string][]*unstructured.Unstructured{"tenant": s.one(t), "cluster": s.every(t)} {
			t.Run(name+" "+variant, func(t *testing.T) {
				seen := map[string]int{}
				var pods map[string]string
				for _, u := range objects {
					seen[u.GetKind()]++
					switch u.GetKind() {
					case "Namespace":
						require.Equal(t, "restricted", u.GetLabels()["pod-security.kubernetes.io/enforce"])
					case "Deployment":
						d := as[appsv1.Deployment](t, u)
						pods = d.Spec.Template.Labels
						restricted(t, d.Spec.Template.Spec)
						args := strings.Join(d.Spec.Template.Spec.Containers[0].Args, " ")
						require.Equal(t, variant == "tenant", strings.Contains(args, "-namespace=tenant"), args)
						if name == "redis-operator" {
							require.Equal(t, *d.Spec.Selector, policy.PodSelector)
						}
						survivesDrain(t, name, d, objects)
					case "NetworkPolicy":
						p := as[networkingv1.NetworkPolicy](t, u)
						require.Equal(t, pods, p.Spec.PodSelector.MatchLabels)
						require.Contains(t, p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
						for _, in := range p.Spec.Ingress {
							for _, from := range in.From {
								require.Equal(t, metrics, from.NamespaceSelector)
							}
						}
						if len(p.Spec.Egress) == 0 { // it reaches the API server only
							continue
						}
						require.Equal(t, []string{"169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"}, p.Spec.Egress[0].To[0].IPBlock.Except)
						except := []string{"fe80::/10", "fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128", "fd00:a9fe:a9fe::1/128", "fd00:100::100:200/128"}
						for _, cidr := range p.Spec.Egress[0].To[0].IPBlock.Except { // through NAT64; all other IPv4 is reached through it
							four := netip.MustParsePrefix(cidr)
							six := netip.MustParseAddr("64:ff9b::").As16()
							copy(six[12:], four.Addr().AsSlice())
							except = append(except, netip.PrefixFrom(netip.AddrFrom16(six), 96+four.Bits()).String())
						}
						require.Equal(t, except, p.Spec.Egress[0].To[1].IPBlock.Except)
					}
				}
				for _, kind := range []string{"Namespace", "Deployment", "NetworkPolicy", "ServiceAccount"} {
					require.Equal(t, 1, seen[kind], kind)
				}
			})
		}
	}
}

// Replicas run apart, and one is left in a disruption. The multi-cluster controller has one.
func survivesDrain(t *testing.T, name string, d appsv1.Deployment, objects []*unstructured.Unstructured) {
	t.Helper()
	require.Equal(t, corev1.PullIfNotPresent, d.Spec.Template.Spec.Containers[0].ImagePullPolicy)
	if name == "multicluster" {
		return
	}
	require.EqualValues(t, 2, *d.Spec.Replicas)
	term := d.Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	require.Equal(t, d.Spec.Selector, term.LabelSelector)
	i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "PodDisruptionBudget" })
	require.GreaterOrEqual(t, i, 0)
	budget := as[policyv1.PodDisruptionBudget](t, objects[i])
	require.Equal(t, d.Namespace, budget.Namespace)
	require.Equal(t, d.Spec.Selector, budget.Spec.Selector)
	require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
}

var image = regexp.MustCompile(`^[\w./:-]+(:v\d+\.\d+\.\d+|@sha256:[0-9a-f]{64})$`)

func restricted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	for _, v := range pod.Volumes {
		require.True(t, v.EmptyDir != nil || v.Projected != nil, v.Name)
	}
	for _, c := range pod.Containers {
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
		require.NotEmpty(t, c.Resources.Limits.Memory().String())
		require.Regexp(t, image, c.Image)
	}
}

// The README's sed makes the manifests of another namespace, completely.
func TestSed(t *testing.T) {
	for name, s := range all {
		data, err := os.ReadFile(filepath.Join("../..", s.tenant))
		require.NoError(t, err)
		for _, u := range objects(t, strings.ReplaceAll(string(data), "tenant", "mail")) {
			text, err := yaml.Marshal(u.Object)
			require.NoError(t, err)
			require.NotContains(t, string(text), "tenant")
			require.True(t, u.GetKind() == "Namespace" || strings.Contains(u.GetNamespace()+u.GetName(), "mail"), "%s %s", name, u.GetName())
		}
	}
}

// kubectl explain describes every field of these custom resources, except Kubernetes' own.
func TestDescriptions(t *testing.T) {
	described := 0
	var check func(path string, schema map[string]any)
	check = func(path string, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			path, p := path+"."+name, p.(map[string]any)
			if path != ".metadata" { // which the API server describes
				require.NotEmpty(t, p["description"], path)
				described++
			}
			if name != "jobTemplate" {
				check(path, p)
			}
		}
		if items, ok := schema["items"].(map[string]any); ok {
			check(path, items)
		}
	}
	files, err := filepath.Glob("../../scaledjob-controller/manifests/crds/*s.yaml")
	require.NoError(t, err)
	for _, file := range append(files, "../../redis-operator/config/crd/batch.miracle.dev_scaledjobs.yaml") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		versions, _, err := unstructured.NestedSlice(objects(t, string(data))[0].Object, "spec", "versions")
		require.NoError(t, err)
		for _, version := range versions {
			schema, _, err := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema")
			require.NoError(t, err)
			check("", schema)
		}
	}
	require.Greater(t, described, 65)
}
