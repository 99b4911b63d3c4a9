package conformance

import (
	"flag"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

var newest = flag.Bool("newest", false, "list KEDA's releases with the go command, which needs the network")

// unknown returns the releases, without those before them, that package keda does not know.
func unknown(versions []string) (releases []string) {
	for _, v := range versions {
		if _, err := keda.Release(v); err != nil && !strings.Contains(v, "-") {
			releases = append(releases, v)
		}
	}
	return releases
}

func TestUnknownReleases(t *testing.T) {
	versions := []string{"v2.0.0", "v2.21.0", "v2.21.7", "v2.22.0-rc.1", "v2.22.0", "v3.0.0"}
	require.Equal(t, []string{"v2.21.7", "v2.22.0", "v3.0.0"}, unknown(versions))
}

// The workflow asks every week whether KEDA has released something that package keda does not
// know. A change must not fail for that reason, so make conformance does not ask.
func TestNewestRelease(t *testing.T) {
	if !*newest {
		t.Skip("asks the network: make newest")
	}
	out, err := exec.Command("go", "list", "-m", "-f", `{{join .Versions "\n"}}`, "-versions", "github.com/kedacore/keda/v2").Output()
	require.NoError(t, err)
	versions := strings.Fields(string(out))
	require.NotEmpty(t, versions)
	require.Empty(t, unknown(versions), "package keda does not know these releases of KEDA; the section Releases of conformance/README.md shows how to add them")
}
