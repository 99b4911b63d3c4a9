package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A Cluster is a running control plane.
type Cluster struct {
	folder string // of data, logs and kubeconfig
	host   string
	tokens tokens
	config *rest.Config

	etcd, server, manager *process
	health                string // URL of the manager's
}

// Start starts a cluster that is stopped when the test ends, also by a panic. If
// the test has failed, the ends of the logs are shown.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	c, err := New(t.Context(), os.Stderr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// New starts a cluster, and writes its progress to out. The cluster stops at Close, or when
// this process ends for any reason.
func New(ctx context.Context, out io.Writer, opts ...Option) (c *Cluster, err error) {
	binaries, err := selected()
	if err != nil {
		return nil, err
	}
	bin, err := build(ctx, out, binaries)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for _, b := range binaries {
		fmt.Fprintln(out, "starting", b.name, b.version)
	}
	for tries := 1; ; tries++ {
		c, err = start(ctx, bin, newOptions(opts))
		if !errors.Is(err, errEnded) || tries == 3 {
			break
		}
		fmt.Fprintln(out, "starting again, because another process may have taken a port:", err)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "started %s within %v, data and logs in %s\n", c.host, time.Since(begin).Round(100*time.Millisecond), c.folder)
	return c, nil
}

func start(ctx context.Context, bin string, o options) (*Cluster, error) {
	folder, err := os.MkdirTemp("", "scaledjob-e2e-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder}
	if err := c.start(ctx, bin, o); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.logs())
		c.Close()
		return nil, err
	}
	return c, nil
}

// Kubeconfig returns the path of a kubeconfig file with the access of Config.
func (c *Cluster) Kubeconfig() string { return c.file("kubeconfig") }

// PIDs returns the process IDs of etcd, kube-apiserver and kube-controller-manager, by these names.
func (c *Cluster) PIDs() map[string]int {
	pids := map[string]int{}
	for _, p := range []*process{c.etcd, c.server, c.manager} {
		pids[p.name] = p.Process.Pid
	}
	return pids
}

// Close stops the processes and removes their data. It is called once.
func (c *Cluster) Close() error {
	for _, p := range []*process{c.manager, c.server, c.etcd} {
		if p != nil {
			p.Kill()
		}
	}
	return os.RemoveAll(c.folder)
}

// KillAPIServer kills kube-apiserver, as a crash would. Requests then fail until
// StartAPIServer.
func (c *Cluster) KillAPIServer() { c.server.Kill() }

// StartAPIServer starts kube-apiserver again, at the same address and with the same data,
// and returns when it is ready. It does nothing if kube-apiserver runs.
//
// It also restarts kube-controller-manager, whose informers would otherwise wait up to a
// minute before they try again. A test's informers wait as long; the fake kubelet does not.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if c.server.Running() {
		return nil
	}
	if err := c.startServer(ctx); err != nil {
		return err
	}
	c.manager.Kill()
	return c.startManager(ctx)
}

func (c *Cluster) startServer(ctx context.Context) error {
	if err := c.cutAudit(); err != nil {
		return err
	}
	if err := c.server.start(); err != nil {
		return err
	}
	return await(ctx, c.ready, c.etcd, c.server)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.folder, name) }

// start sets each process once it runs, so that Close kills it.
func (c *Cluster) start(ctx context.Context, bin string, o options) error {
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	if err := c.prepare(ports[2]); err != nil {
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	c.etcd = c.process(bin, "etcd", "--data-dir", c.file("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err := c.etcd.start(); err != nil {
		return err
	}
	c.server = c.process(bin, "kube-apiserver", append(o.server, "--etcd-servers", client, "--cert-dir", c.file("certificates"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]),
		"--token-auth-file", c.file("tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", c.file("key"),
		"--service-account-signing-key-file", c.file("key"), "--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", // as some clusters do
		"--audit-policy-file", c.file("audit-policy.yaml"), "--audit-log-path", c.file(auditLog),
		"--audit-log-mode=blocking", "--audit-log-maxsize=0", // 0: a single file
		// Another API server, such as KEDA's metrics server, believes whoever has this certificate.
		"--requestheader-client-ca-file", c.file("proxy/ca.crt"), "--requestheader-allowed-names="+proxyUser,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file", c.file("proxy/tls.crt"), "--proxy-client-key-file", c.file("proxy/tls.key"))...)
	if err := c.startServer(ctx); err != nil {
		return err
	}
	if err := c.bind(ctx); err != nil {
		return err
	}
	c.manager = c.process(bin, "kube-controller-manager", append(o.manager, "--kubeconfig", c.file("manager.kubeconfig"), "--leader-elect=false",
		"--controllers="+strings.Join(o.controllers, ","),
		"--service-account-private-key-file", c.file("key"), fmt.Sprintf("--secure-port=%d", ports[3]), "--bind-address=127.0.0.1",
		"--cert-dir", c.file("certificates"), "--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-job-syncs=20")...)
	c.health = fmt.Sprintf("https://127.0.0.1:%d/healthz", ports[3])
	return c.startManager(ctx)
}

func (c *Cluster) startManager(ctx context.Context) error {
	if err := c.manager.start(); err != nil {
		return err
	}
	return await(ctx, c.managing, c.etcd, c.server, c.manager)
}

// managing asks the controller manager whether it is healthy. Its certificate is its
// own.
func (c *Cluster) managing(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.health, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

func (c *Cluster) process(bin, name string, args ...string) *process {
	return &process{name: name, path: filepath.Join(bin, name), args: args, log: c.file(name + ".log")}
}

// ready asks the API server whether it is.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// freePorts returns ports below the kernel's range for connections. A connection could
// otherwise take the API server's port while the server is down.
func freePorts(n int) ([]int, error) {
	const low, high = 20_000, 32_000
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		switch {
		case err == nil:
			defer l.Close() // only then, so that no two are the same
			ports = append(ports, port)
		case tries > 1000:
			return nil, err
		}
	}
	return ports, nil
}

// logs returns the end of each process's output.
func (c *Cluster) logs() string {
	const limit = 4000
	var text string
	for _, p := range []*process{c.etcd, c.server, c.manager} {
		if p == nil {
			continue
		}
		data, err := os.ReadFile(p.log)
		if err == nil {
			text += fmt.Sprintf("--- %s\n%s\n", p.name, data[max(0, len(data)-limit):])
		}
	}
	return text
}
