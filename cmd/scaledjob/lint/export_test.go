package lint

import (
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// Read returns the ScaledJobs in a text as rules get them.
func Read(data []byte) (all []*manifest.ScaledJob) {
	c := &collector{}
	for _, p := range tree.Split(string(data)) {
		for _, d := range c.parse("", p) {
			if d.kind() == manifest.GroupVersionKind.Kind {
				s := new(manifest.ScaledJob)
				c.read(d, d.kind(), s)
				all = append(all, s)
			}
		}
	}
	return all
}
