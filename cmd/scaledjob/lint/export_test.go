package lint

import "github.com/scaledjob/scaledjob/adapter/scaledjob"

// Read returns the ScaledJobs in a text as rules get them.
func Read(data []byte) (all []*scaledjob.ScaledJob) {
	c := &collector{}
	for _, p := range split(string(data)) {
		for _, d := range c.parse("", p) {
			if d.kind() == scaledjob.GroupVersionKind.Kind {
				all = append(all, c.read(d))
			}
		}
	}
	return all
}

// Page is the text of RULES.md.
func Page() string { return page() }
