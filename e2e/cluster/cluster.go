package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A Cluster is a running control plane.
type Cluster struct {
	folder    string // of data, logs and kubeconfig
	config    *rest.Config
	processes []*process
}

// Start starts a cluster that is stopped when the test ends, also by a panic. If
// the test has failed, the ends of the logs are shown.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := New(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		c.Close()
	})
	return c
}

// New starts a cluster, and tells out what it does before that. Close stops it.
func New(ctx context.Context, out io.Writer) (c *Cluster, err error) {
	bin, err := build(ctx, out)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "scaledjob-e2e-")
	if err != nil {
		return nil, err
	}
	c = &Cluster{folder: folder}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, c.logs())
			c.Close()
		}
	}()
	if err := c.start(ctx, bin); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is that of an administrator, without a limit on requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of a kubeconfig file with the same.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.folder, "kubeconfig") }

// Client is a client with Config.
func (c *Cluster) Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Close stops the processes and removes their data.
func (c *Cluster) Close() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop()
	}
	os.RemoveAll(c.folder)
}

func (c *Cluster) start(ctx context.Context, bin string) error {
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := c.credentials(ports[2]); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(c.folder, name) }
	if err := c.run(bin, "etcd", "--data-dir", in("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return err
	}
	if err := c.run(bin, "kube-apiserver", "--etcd-servers", etcd, "--cert-dir", in("certificates"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]),
		"--token-auth-file", in("tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", in("key"),
		"--service-account-signing-key-file", in("key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.run(bin, "kube-controller-manager", "--kubeconfig", c.Kubeconfig(), "--leader-elect=false",
		"--controllers=job-controller,garbage-collector-controller,ttl-after-finished-controller,namespace-controller,"+
			"serviceaccount-controller,pod-garbage-collector-controller",
		"--service-account-private-key-file", in("key"), fmt.Sprintf("--secure-port=%d", ports[3]), "--bind-address=127.0.0.1",
		"--cert-dir", in("certificates"), "--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-job-syncs=20")
}

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only then, so that no two are the same
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// credentials writes an administrator's token, a key for service accounts and
// the kubeconfig.
func (c *Cluster) credentials(port int) error {
	token := rand.Text()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	c.config = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // the server makes its certificate itself
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["e2e"] = &clientcmdapi.Cluster{Server: c.config.Host, InsecureSkipTLSVerify: true}
	kubeconfig.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: token}
	kubeconfig.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	kubeconfig.CurrentContext = "e2e"
	return errors.Join(
		os.WriteFile(filepath.Join(c.folder, "key"), block, 0o600),
		os.WriteFile(filepath.Join(c.folder, "tokens"), []byte(token+",admin,admin,system:masters\n"), 0o600),
		clientcmd.WriteToFile(*kubeconfig, c.Kubeconfig()),
	)
}

// ready waits until the API server says that it is.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// A process is one of the cluster's, with its log.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (c *Cluster) run(bin, name string, args ...string) error {
	log, err := os.Create(filepath.Join(c.folder, name+".log"))
	if err != nil {
		return err
	}
	p := &process{cmd: exec.Command(filepath.Join(bin, name), args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, dieWithParent()
	started := make(chan error)
	go func() {
		// The kernel takes the thread that starts a process for its parent: this
		// one must live as long.
		runtime.LockOSThread()
		defer log.Close()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // it is killed, always
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.done
}

// logs returns the last of what each process said.
func (c *Cluster) logs() string {
	const most = 4000
	var all string
	for _, b := range binaries {
		data, err := os.ReadFile(filepath.Join(c.folder, b.name+".log"))
		if err == nil {
			all += fmt.Sprintf("--- %s\n%s\n", b.name, data[max(0, len(data)-most):])
		}
	}
	return all
}
