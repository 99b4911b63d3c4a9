package trace

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// A trace that can be read has arrivals of at least one item, in the order of time. Each
// item of the rows is in it.
func FuzzTrace(f *testing.F) {
	for _, text := range []string{
		"time,items,service\n0,3,\n1m30s,2,5s\n", "items; Time\n3; 0\n", "0,0.5\n10,0.25\n20,0.25\n", "time\n2026-01-31T12:00:00Z\n2026-01-31 12:02:00Z\n",
		"time\n1700000000000\n1700000060250\n", "time\n99999999999\n", `[{"time":0,"items":2},{"time":"1m","items":1,"service":"5s"}]`,
		`{"data":{"resultType":"matrix","result":[{"metric":{"__name__":"a_total"},"values":[[1700000000,"5"],[1700000010,"7"],[1700000020,"1"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"0.1"],[2,"0.1"],[3,"0.8"],[4,"0.1"],[5,"0.1"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1e300"],[2,"1e300"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"],[1e300,"1"]]}]}}`,
		`{"status":"error","error":"parse error"}`, "",
	} {
		for _, as := range []string{"", "rate", "counter"} {
			f.Add([]byte(text), as)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, as string) {
		sum := 0.0
		samples, _, err := samplesIn(data, as)
		if err != nil {
			return
		}
		for _, s := range samples {
			sum += s.items
		}
		if fromTheFirst(samples) != nil {
			return
		}
		all := whole(samples)
		items, last := 0.0, simulation.Duration(0)
		for _, a := range all {
			if a.Items < 1 || a.Service < 0 || a.At < last {
				t.Fatalf("%+v after %v", a, last)
			}
			items, last = items+float64(a.Items), a.At
		}
		require.InDelta(t, math.Floor(sum), items, 1)
	})
}
