package operator

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

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

// build returns the path of the program of KEDA, operator or adapter, which it builds if that was not
// done before.
func build(t testing.TB, program string) string {
	t.Helper()
	folder := os.Getenv("SCALEDJOB_E2E_BINARIES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		folder = filepath.Join(cache, "scaledjob-e2e")
	}
	path := filepath.Join(folder, "keda-"+Release(t), "keda-"+program)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := []string{"build", "-ldflags=-s -w -X " + keda + "/version.Version=" + Release(t), "-o", path + ".new"}
	build := inModule(append(args, keda+"/cmd/"+program)...)
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
