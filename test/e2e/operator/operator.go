// Package operator runs KEDA's operator on a control plane of package cluster, as a process.
//
//	o := operator.Start(t, c)
//	...
//	log := o.Log()
//
// The operator is built from its module in test/e2e/binaries/keda: 11 CPU minutes the first time. It is
// kept beside the binaries of package cluster. SCALEDJOB_KEDA=2.18.3 selects another release, which is
// built in its own source, without the scalers of New Relic and SolarWinds: some proxies do not serve
// their modules.
package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/internal/child"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// An Operator is KEDA's operator as a process.
type Operator struct {
	Metrics string // address of its metrics
	Process *os.Process

	log  string
	args []string
	bin  string
	run  *child.Child
}

// module is the directory of the operator's module.
func module() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "binaries", "keda")
}

// Release returns the release of the operator, such as 2.21.0.
func Release(t testing.TB) string {
	t.Helper()
	if other := os.Getenv("SCALEDJOB_KEDA"); other != "" {
		return other
	}
	file, err := os.ReadFile(filepath.Join(module(), "go.mod"))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^require github\.com/kedacore/keda/v2 v(\S+)$`).FindSubmatch(file)
	require.NotNil(t, found, "go.mod has no requirement of KEDA on a line of its own")
	return string(found[1])
}

// Build returns the path of the operator, which it builds if that was not done before.
func Build(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("SCALEDJOB_E2E_BINARIES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		folder = filepath.Join(cache, "scaledjob-e2e")
	}
	path := filepath.Join(folder, "keda-"+Release(t), "keda-operator")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := []string{"build", "-ldflags=-s -w -X " + keda + "/version.Version=" + Release(t), "-o", path + ".new"}
	build := inModule(append(args, keda+"/cmd/operator")...)
	if os.Getenv("SCALEDJOB_KEDA") != "" {
		build.Dir = copied(t)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, os.Rename(path+".new", path))
	return path
}

const keda = "github.com/kedacore/keda/v2"

// source returns the directory of KEDA's source.
func source(t testing.TB) string {
	t.Helper()
	output, err := inModule("mod", "download", "-json", keda+"@v"+Release(t)).Output()
	require.NoError(t, err)
	var downloaded struct{ Dir string }
	require.NoError(t, json.Unmarshal(output, &downloaded))
	return downloaded.Dir
}

// copied returns a copy of KEDA's source in which two scalers cannot be built.
func copied(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "keda")
	require.NoError(t, os.CopyFS(folder, os.DirFS(source(t))))
	for file, name := range map[string]string{"newrelic_scaler.go": "NewNewRelicScaler", "solarwinds_scaler.go": "NewSolarWindsScaler"} {
		path := filepath.Join(folder, "pkg/scalers", file)
		if os.Remove(path) != nil { // an older release
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte("package scalers\n\nimport (\n\t\"errors\"\n\n\t\""+keda+"/pkg/scalers/scalersconfig\"\n)\n\n"+
			"func "+name+"(*scalersconfig.ScalerConfig) (Scaler, error) {\n\treturn nil, errors.New(\"left out of this build\")\n}\n"), 0o600))
	}
	return folder
}

func inModule(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = module()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	return cmd
}

// Definitions applies the definitions of KEDA's resources, as its module has them.
func Definitions(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(source(t), "config/crd/bases/*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var defined []*unstructured.Unstructured
	for _, file := range files {
		defined = append(defined, manifest.Objects(t, manifest.Read(t, file))...)
	}
	manifest.Apply(t, c.Config(), defined...)
	for _, crd := range defined { // the operator ends if a kind is not served yet
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		of := &unstructured.Unstructured{}
		of.SetAPIVersion(group + "/" + versions[0].(map[string]any)["name"].(string))
		of.SetKind(kind)
		manifest.Client(t, c.Config(), of)
	}
}

// Start applies the definitions, and starts the operator with the log level 1 in JSON. Args are
// further flags, and replace these. The operator is killed when the test ends.
func Start(t testing.TB, c *cluster.Cluster, args ...string) *Operator {
	t.Helper()
	Definitions(t, c)
	certificates := t.TempDir()
	certify(t, certificates)
	o := &Operator{bin: Build(t), log: filepath.Join(t.TempDir(), "operator.log"), Metrics: free(t)}
	o.args = slices.Concat([]string{
		"--kubeconfig=" + c.Kubeconfig(), "--cert-dir=" + certificates, "--zap-log-level=1", "--zap-encoder=json",
		"--metrics-bind-address=" + o.Metrics, "--health-probe-bind-address=" + free(t), "--metrics-service-bind-address=" + free(t),
	}, args)
	o.Restart(t)
	t.Cleanup(o.Stop)
	return o
}

// Restart kills the operator if it runs, and starts it again with the same log.
func (o *Operator) Restart(t testing.TB) {
	t.Helper()
	o.Stop()
	begin := 0
	if info, err := os.Stat(o.log); err == nil {
		begin = int(info.Size())
	}
	cmd := exec.Command(o.bin, o.args...)
	cmd.Env = append(os.Environ(), "WATCH_NAMESPACE=", "KEDA_CLUSTER_OBJECT_NAMESPACE=keda", "POD_NAMESPACE=keda")
	var err error
	o.run, err = child.Logged(cmd, o.log)
	require.NoError(t, err)
	o.Process = cmd.Process
	require.Eventually(t, func() bool {
		if !o.run.Running() {
			t.Fatal("KEDA's operator has ended: " + o.Log(t))
		}
		return strings.Contains(o.Log(t)[begin:], `"msg":"Starting workers"`)
	}, 2*time.Minute, 100*time.Millisecond, "KEDA's operator does not start")
}

// Stop kills the operator.
func (o *Operator) Stop() { o.run.Kill() }

// Log returns the log so far.
func (o *Operator) Log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(o.log)
	require.NoError(t, err)
	return string(data)
}

// File is the path of the log.
func (o *Operator) File() string { return o.log }

func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// certify writes a certificate that is its own authority.
func certify(t testing.TB, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "keda-operator"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"ca.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600))
	}
}
