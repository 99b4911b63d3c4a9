package lint_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

func BenchmarkCheck(b *testing.B) {
	scopes := map[string][]keda.Profile{"one release": {keda.Newest()}, "all releases": nil}
	for name, releases := range scopes {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				text := load(b, "testdata/samples/scaling-jobs.yaml")[0].Data
				files := []lint.File{{Name: "a.yaml", Data: bytes.Repeat(append(bytes.Clone(text), "\n---\n"...), n)}}
				b.ReportAllocs()
				for b.Loop() {
					if r := lint.Check(files, releases...); r.ScaledJobs != n {
						b.Fatal(r.ScaledJobs)
					}
				}
			})
		}
	}
}
