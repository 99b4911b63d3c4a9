package cluster

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// A dump that can be read gives a ScaledJob some of its Jobs and pods, and nothing panics.
func FuzzDump(f *testing.F) {
	for _, name := range []string{"../../testdata/jobs.json", "../../testdata/pods.json"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("NAME READY"))
	f.Add([]byte("{kind: Job, metadata: {name: a, ownerReferences: [{controller: true, kind: ScaledJob, name: orders, uid: b}]}, status: {ready: 1}}"))
	f.Add([]byte(`{"kind":"PodList","items":[{"metadata":{"name":"a"}},null,{"kind":"Job"}]}`))
	var flags input.ManifestFlags
	manifests, err := flags.Read([]string{"../../testdata/manifest.yaml"}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		d := reader{scaledJobs: manifests}
		if d.read(bytes.NewReader(data)) != nil {
			return
		}
		for _, by := range []input.Release{{}, input.NewestOnly().List[0]} {
			o, err := d.OwnedBy(manifests[0], by)
			if err == nil {
				require.Len(t, o.KedaJobs(), len(o.Jobs))
				require.LessOrEqual(t, len(o.Jobs), len(d.Jobs))
				require.LessOrEqual(t, len(o.PodTimes()), len(d.Pods))
			}
		}
	})
}
