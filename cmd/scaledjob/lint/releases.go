package lint

import (
	"slices"
	"strings"
	"sync"

	"github.com/scaledjob/scaledjob/keda"
)

// known are the profiles of all releases, oldest first.
var knownProfiles = sync.OnceValue(func() []keda.Profile {
	var profiles []keda.Profile
	for _, name := range keda.Releases() {
		if p, err := keda.Release(name); err == nil {
			profiles = append(profiles, p)
		}
	}
	return profiles
})

// A scope is the releases that are asked about.
type scope struct {
	profiles []keda.Profile
	named    bool // by the caller; else they are all
}

func scopeOf(releases []keda.Profile) scope {
	if len(releases) > 0 {
		return scope{releases, true}
	}
	return scope{knownProfiles(), false}
}

// A condition reports whether a release is affected; nil holds for all releases.
type condition func(keda.Profile) bool

// affected lists the releases of the scope that meet the condition, or "" for all of
// them, and reports whether any does.
func (s scope) affected(met condition) (string, bool) {
	if met == nil {
		return "", true
	}
	meets := make([]bool, len(s.profiles))
	for i, p := range s.profiles {
		meets[i] = met(p)
	}
	switch {
	case !slices.Contains(meets, true):
		return "", false
	case !slices.Contains(meets, false):
		return "", true
	}
	var runs []string
	for i := 0; i < len(meets); i++ {
		if !meets[i] {
			continue
		}
		first := i
		for !s.named && i+1 < len(meets) && meets[i+1] {
			i++
		}
		runs = append(runs, s.run(first, i))
	}
	return strings.Join(runs, ", "), true
}

// run names a range of releases.
func (s scope) run(first, last int) string {
	from, end := s.profiles[first].Release(), s.profiles[last].Release()
	if s.named {
		return from
	}
	// A minor stands for all of its patches.
	minor := from[:strings.LastIndexByte(from, '.')]
	complete := last+1 == len(s.profiles) || !strings.HasPrefix(s.profiles[last+1].Release(), end[:strings.LastIndexByte(end, '.')+1])
	if strings.HasSuffix(from, ".0") && (complete || !strings.HasPrefix(end, minor+".")) {
		from = minor
	}
	if complete && (first == 0 || !strings.HasPrefix(s.profiles[first-1].Release(), end[:strings.LastIndexByte(end, '.')+1])) {
		end = end[:strings.LastIndexByte(end, '.')]
	}
	switch {
	case last+1 == len(s.profiles):
		return "since " + from
	case first == 0:
		return "until " + end
	case from == end:
		return from
	}
	return from + " to " + end
}

// from returns the condition that a release is this or a later release, such as "2.14.0".
func from(release string) condition {
	return func(p keda.Profile) bool {
		return slices.Index(keda.Releases(), p.Release()) >= slices.Index(keda.Releases(), release)
	}
}

func supports(f keda.Feature) condition {
	return func(p keda.Profile) bool { return p.Supports(f) == nil }
}

// conjunction holds if two conditions hold; the first may be nil.
func conjunction(a, b condition) condition {
	return func(p keda.Profile) bool { return (a == nil || a(p)) && b(p) }
}

func not(a condition) condition {
	return func(p keda.Profile) bool { return !a(p) }
}
