package registry

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"
	rbac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Rights are the permissions of the controller in each namespace that it serves on a member.
func Rights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}}, // why a Job has no pods: quota, admission
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale", "statefulsets/scale"}, Verbs: []string{"get", "patch"}},
	}
}

// SystemRights are those in the namespace kube-system, whose UID names the member.
func SystemRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{metav1.NamespaceSystem}, Verbs: []string{"get"}}}
}

// A NewMember is a cluster to set up.
type NewMember struct {
	Name  string
	Admin *rest.Config // with the right to make namespaces, ServiceAccounts and RBAC
	// URL is how the home cluster reaches it; "" is as Admin does.
	URL string
	// Namespaces get a Role with Rights each; if there are none, a ClusterRole grants them in all.
	Namespaces []string
}

// Setup makes a ServiceAccount on the member, with Rights, and returns a kubeconfig
// with its token, and the UID of the member's namespace kube-system. It may be called again:
// to renew the Rights, or for another URL.
func Setup(ctx context.Context, m NewMember) (access []byte, uid string, err error) {
	if err := checkName(m.Name); err != nil {
		return nil, "", err
	}
	admin := rest.CopyConfig(m.Admin)
	if err := WithoutUser(admin); err != nil {
		return nil, "", err
	}
	if err := rest.LoadTLSFiles(admin); err != nil {
		return nil, "", err
	}
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, "", err
	}
	if err := grant(ctx, client, m.Namespaces); err != nil {
		return nil, "", fmt.Errorf("member %s: %w", m.Name, err)
	}
	token, err := await(ctx, client)
	if err != nil {
		return nil, "", fmt.Errorf("member %s: no token for its ServiceAccount: %w", m.Name, err)
	}
	if err := try(ctx, admin, token, m.Namespaces); err != nil {
		return nil, "", fmt.Errorf("member %s: its ServiceAccount may not list Jobs: %w", m.Name, err)
	}
	system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("member %s: %w", m.Name, err)
	}
	admin.Host = cmp.Or(m.URL, admin.Host)
	access, err = kubeconfig(m.Name, token, admin)
	return access, string(system.UID), err
}

var manager = metav1.ApplyOptions{FieldManager: "multicluster-setup", Force: true}

// grant applies the ServiceAccount with its RBAC. It takes nothing away: Revoke does.
func grant(ctx context.Context, c kubernetes.Interface, namespaces []string) error {
	// Nothing of ours runs there. A namespace that exists keeps its labels.
	_, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: Namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = c.CoreV1().ServiceAccounts(Namespace).Apply(ctx, core.ServiceAccount(Account, Namespace), manager)
	}
	if err == nil {
		err = grantIn(ctx, c, metav1.NamespaceSystem, SystemRights())
	}
	for _, n := range namespaces {
		if err == nil {
			err = grantIn(ctx, c, n, Rights())
		}
	}
	if err == nil && len(namespaces) == 0 {
		err = grantEverywhere(ctx, c)
	}
	if err == nil {
		_, err = c.CoreV1().Secrets(Namespace).Apply(ctx, &core.SecretApplyConfiguration{
			TypeMetaApplyConfiguration: *meta.TypeMeta().WithKind("Secret").WithAPIVersion("v1"),
			ObjectMetaApplyConfiguration: meta.ObjectMeta().WithName(tokenName).WithNamespace(Namespace).
				WithAnnotations(map[string]string{corev1.ServiceAccountNameKey: Account}),
			Type: new(corev1.SecretTypeServiceAccountToken),
		}, manager)
	}
	return err
}

func subject() *rbac.SubjectApplyConfiguration {
	return rbac.Subject().WithKind(rbacv1.ServiceAccountKind).WithName(Account).WithNamespace(Namespace)
}

func applied(grants []rbacv1.PolicyRule) (rules []*rbac.PolicyRuleApplyConfiguration) {
	for _, r := range grants {
		rules = append(rules, rbac.PolicyRule().WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).WithResourceNames(r.ResourceNames...).WithVerbs(r.Verbs...))
	}
	return rules
}

// grantIn grants the rules in a namespace, which must exist.
func grantIn(ctx context.Context, c kubernetes.Interface, namespace string, rules []rbacv1.PolicyRule) error {
	_, err := c.RbacV1().Roles(namespace).Apply(ctx, rbac.Role(Role, namespace).WithRules(applied(rules)...), manager)
	if err == nil {
		_, err = c.RbacV1().RoleBindings(namespace).Apply(ctx, rbac.RoleBinding(Role, namespace).WithSubjects(subject()).
			WithRoleRef(rbac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(Role)), manager)
	}
	return err
}

// grantEverywhere grants Rights in all namespaces.
func grantEverywhere(ctx context.Context, c kubernetes.Interface) error {
	_, err := c.RbacV1().ClusterRoles().Apply(ctx, rbac.ClusterRole(Role).WithRules(applied(Rights())...), manager)
	if err == nil {
		_, err = c.RbacV1().ClusterRoleBindings().Apply(ctx, rbac.ClusterRoleBinding(Role).WithSubjects(subject()).
			WithRoleRef(rbac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(Role)), manager)
	}
	return err
}

const (
	tokenName = Account + "-token"
	// Role is the name of the Roles or the ClusterRole on members, and of their bindings.
	Role = "scaledjob-multicluster-member"
)

// await waits for the ServiceAccount's token, and returns it.
func await(ctx context.Context, c kubernetes.Interface) (token string, err error) {
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		s, err := c.CoreV1().Secrets(Namespace).Get(ctx, tokenName, metav1.GetOptions{})
		if err == nil {
			token = string(s.Data[corev1.ServiceAccountTokenKey])
		}
		return token != "", err
	})
	return token, err
}

// try makes a request in each namespace as the ServiceAccount: a new binding takes a moment to count.
func try(ctx context.Context, admin *rest.Config, token string, namespaces []string) error {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = token
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		for _, n := range namespaces {
			if _, last = c.BatchV1().Jobs(n).List(ctx, metav1.ListOptions{Limit: 1}); last != nil {
				return false, nil
			}
		}
		return true, nil
	})
	return cmp.Or(last, err)
}

// Revoke deletes the objects of Setup from the member, except the namespace.
func Revoke(ctx context.Context, admin *rest.Config) error {
	c, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	type object struct {
		remove func(context.Context, string, metav1.DeleteOptions) error
		name   string
	}
	bindings, err := c.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, Role).String()})
	if err != nil {
		return err
	}
	var objects []object
	for _, b := range bindings.Items {
		objects = append(objects, object{c.RbacV1().RoleBindings(b.Namespace).Delete, Role}, object{c.RbacV1().Roles(b.Namespace).Delete, Role})
	}
	for _, entry := range append(objects, []object{
		{c.RbacV1().ClusterRoleBindings().Delete, Role}, {c.RbacV1().ClusterRoles().Delete, Role},
		{c.CoreV1().ServiceAccounts(Namespace).Delete, Account}, {c.CoreV1().Secrets(Namespace).Delete, tokenName},
	}...) {
		if err := entry.remove(ctx, entry.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
