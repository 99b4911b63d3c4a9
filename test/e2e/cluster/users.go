package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/scaledjob/scaledjob/test/e2e/internal/certificate"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// Who makes the requests of the cluster itself; the audit policy leaves them out. They may do
// everything, but have no group whose requests the API server never lets wait.
const (
	managerUser = "system:kube-controller-manager"
	kubeletUser = "kubelet-stand-in"
	selfGroup   = "cluster-itself"
	proxyUser   = "front-proxy" // as which kube-apiserver speaks to other API servers
)

type tokens struct{ admin, manager, kubelet string }

// Config returns the access of the user admin, who may do everything, without a rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// User returns the access of another user, who may do what RBAC grants to the name and the
// groups. At first these are the rights of every user. Its requests count as the user's.
func (c *Cluster) User(name string, groups ...string) *rest.Config {
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return config
}

// UserKubeconfig returns the path of a kubeconfig file with the access of User. For a
// ServiceAccount, "system:serviceaccount:<namespace>:<name>", the API server knows the
// groups. The file exists until the test ends.
func (c *Cluster) UserKubeconfig(t testing.TB, name string, groups ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.writeKubeconfig(path, clientcmdapi.AuthInfo{Token: c.tokens.admin, Impersonate: name, ImpersonateGroups: groups}); err != nil {
		t.Fatal(err)
	}
	return path
}

// Client is a client with Config.
func (c *Cluster) Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bind lets the cluster itself do everything.
func (c *Cluster) bind(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: selfGroup}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: selfGroup}},
	}, metav1.CreateOptions{})
	return err
}

func (c *Cluster) withToken(token string) *rest.Config {
	return &rest.Config{
		Host: c.host, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the server makes its certificate itself
	}
}

// prepare writes the input files of the processes.
func (c *Cluster) prepare(port int) error {
	c.host = fmt.Sprintf("https://127.0.0.1:%d", port)
	c.tokens = tokens{admin: rand.Text(), manager: rand.Text(), kubelet: rand.Text()}
	secret.Add(c.tokens.admin, c.tokens.manager, c.tokens.kubelet)
	c.config = c.withToken(c.tokens.admin)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	users := c.tokens.admin + ",admin,1,system:masters\n" +
		c.tokens.manager + "," + managerUser + ",2," + selfGroup + "\n" +
		c.tokens.kubelet + "," + kubeletUser + ",3," + selfGroup + "\n"
	return errors.Join(
		os.Mkdir(c.file("proxy"), 0o700),
		certificate.Write(c.file("proxy"), proxyUser),
		os.WriteFile(c.file("key"), block, 0o600),
		os.WriteFile(c.file("tokens"), []byte(users), 0o600),
		os.WriteFile(c.file("audit-policy.yaml"), []byte(auditPolicy), 0o600),
		c.writeKubeconfig(c.Kubeconfig(), clientcmdapi.AuthInfo{Token: c.tokens.admin}),
		c.writeKubeconfig(c.file("manager.kubeconfig"), clientcmdapi.AuthInfo{Token: c.tokens.manager}),
	)
}

func (c *Cluster) writeKubeconfig(path string, user clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: c.host, InsecureSkipTLSVerify: true}
	config.AuthInfos["e2e"] = &user
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	config.CurrentContext = "e2e"
	return clientcmd.WriteToFile(*config, path)
}
