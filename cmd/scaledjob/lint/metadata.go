package lint

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// A metadataProblem is a problem of a trigger's metadata, with the releases that have it.
type metadataProblem struct {
	triggers.Problem
	trigger   int
	minors    map[string]bool
	newest    bool             // the newest release in question has the problem
	elsewhere bool             // an unknown key that another release has
	meant     *metadataProblem // the missing parameter that a key misspells, or gives in a wrong place
	cause     *metadataProblem // the key that does so
}

func minor(release string) string { return release[:strings.LastIndexByte(release, '.')] }

// minors returns the minor releases in question with known parameters, oldest first.
func (s scope) minors() (names []string) {
	for _, p := range s.profiles {
		if m := minor(p.Release()); triggers.Covers(m) && !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}

// findMetadataProblems returns the problems of all triggers' metadata, at most one per key and kind.
func (j *job) findMetadataProblems() (problems []*metadataProblem) {
	minors := j.scope.minors()
	for i, t := range j.spec.Triggers {
		if t.Metadata == nil {
			continue // a finding of its own
		}
		in, found := j.input(i), map[triggers.Problem]*metadataProblem{}
		for _, m := range minors {
			for _, p := range triggers.Check(t.Type, m, in) {
				id := triggers.Problem{Kind: p.Kind, Key: p.Key, Rule: p.Rule}
				if found[id] == nil {
					found[id] = &metadataProblem{trigger: i, minors: map[string]bool{}}
					problems = append(problems, found[id])
				}
				found[id].Problem, found[id].newest = p, m == minors[len(minors)-1] // the newest release's text stays
				found[id].minors[m] = true
			}
		}
	}
	missing := map[any]*metadataProblem{}
	for _, p := range problems {
		if p.Kind == triggers.Missing {
			missing[[2]any{p.trigger, "Write " + p.Key}], missing[[2]any{p.trigger, p.Fix}] = p, p
		}
	}
	for _, p := range problems {
		about := p.Kind == triggers.UnknownKey || p.Kind == triggers.WrongPlace
		if m := missing[[2]any{p.trigger, p.Fix}]; m != nil && about && m.newest {
			p.meant, m.cause = m, p
			if p.Kind == triggers.WrongPlace {
				m.Text = strings.TrimSuffix(p.Text, "ignores the key") + "never polls without it"
			}
		}
		p.elsewhere = p.Kind == triggers.UnknownKey && triggers.HasKey(j.spec.Triggers[p.trigger].Type, p.Key)
	}
	return problems
}

// ignored reports whether the newest release does not read a key of a trigger's metadata: no value of it matters.
func (j *job) ignored(trigger int, key string) bool {
	return j.hasProblem(trigger, key, func(p *metadataProblem) bool { return p.Kind == triggers.WrongPlace && p.newest })
}

// hasProblem reports whether a key of a trigger has a problem that meets a condition.
func (j *job) hasProblem(trigger int, key string, meets func(*metadataProblem) bool) bool {
	return slices.ContainsFunc(j.metadataOf()[triggerKey{trigger, key}], meets)
}

type triggerKey struct {
	trigger int
	key     string
}

func (j *job) groupMetadataProblems() map[triggerKey][]*metadataProblem {
	groups := map[triggerKey][]*metadataProblem{}
	for _, p := range j.metadata() {
		id := triggerKey{p.trigger, p.Key}
		groups[id] = append(groups[id], p)
	}
	return groups
}

// always reports whether all releases with known parameters have the problem, so that nothing shows since when.
func (j *job) always(p *metadataProblem) bool {
	byKey := p.Kind == triggers.UnknownKey || p.Kind == triggers.WrongPlace
	return !j.scope.named && !slices.ContainsFunc(j.scope.minors(), func(m string) bool {
		d, ok := triggers.Lookup(j.spec.Triggers[p.trigger].Type, m)
		return ok && (d.Full || byKey) && !p.minors[m]
	})
}

// inRelease is met by the releases that have the problem.
func (p *metadataProblem) inRelease(profile keda.Profile) bool {
	return p.minors[minor(profile.Release())]
}

// accepted returns the condition that a release does not reject the trigger because of
// the parameter, or that its parameters are unknown.
func (j *job) accepted(trigger int, key string) condition {
	return func(profile keda.Profile) bool {
		return !j.hasProblem(trigger, key, func(p *metadataProblem) bool { return !p.Warning && p.inRelease(profile) })
	}
}

// metadataRule returns a rule's check for problems of a kind.
func metadataRule(kind triggers.Kind) func(*job) {
	return func(j *job) {
		for _, p := range j.metadata() {
			if p.Kind == kind && !p.elsewhere && p.meant == nil && !j.hasOwnRule(p) {
				j.findMetadata(p)
			}
		}
	}
}

// hasOwnRule reports whether another finding says the same: that of a rule for all releases, or of the release that
// removes an announced key.
func (j *job) hasOwnRule(p *metadataProblem) bool {
	if p.Kind == triggers.Announced {
		return j.hasProblem(p.trigger, p.Key, func(p *metadataProblem) bool { return p.Kind == triggers.Removed })
	}
	return p.Key == "host" && p.Kind == triggers.Broken && hostIsName(j.spec.Triggers[p.trigger].Metadata["host"])
}

// findMetadata adds a finding. It is a warning if the caller named no releases and the
// newest release does not have the problem.
func (j *job) findMetadata(p *metadataProblem) {
	position := j.trigger(p.trigger, "metadata", p.Key)
	switch {
	case p.cause != nil: // one mistake is one finding
		position, p.Fix = j.key("spec", "triggers", p.trigger, "metadata", p.cause.Key), p.cause.Fix
	case p.Kind == triggers.Announced && p.Key == "": // of the type
		position = j.trigger(p.trigger, "type")
	case p.Key == "":
		position = j.trigger(p.trigger, "metadata")
	case p.Warning:
		position = j.key("spec", "triggers", p.trigger, "metadata", p.Key)
	}
	if n := j.node("spec", "triggers", p.trigger, "metadata", p.Key); n != nil && n.Kind == yaml.MappingNode {
		return // which the API server rejects: a finding of its own
	}
	if p.Kind == triggers.UnknownKey && strings.HasPrefix(p.Fix, "Delete") {
		p.Fix = cmp.Or(j.reader.belongs(tree.Path{"spec", "triggers", p.trigger, "metadata"}, p.Key), p.Fix)
	}
	if p.isForm() {
		p.Fix = cmp.Or(j.fromVariable(p.trigger, p.Key), p.Fix)
	}
	e := effect{affected: p.inRelease, text: p.Text, neverPolls: !p.Warning, sinceData: p.Kind == triggers.Announced || j.always(p)}
	if strings.HasSuffix(position.path, "."+p.Key) {
		e.text = p.withoutKey(j.spec.Triggers[p.trigger].Metadata[p.Key])
	}
	if r := j.rule; r.Severity == Error && !j.scope.named && !p.newest {
		r.Severity = Warning
		j.add(r, position, p.Fix, e)
		return
	}
	j.find(position, p.Fix, e)
}

// verb matches the begin of what a problem says of its key.
var verb = regexp.MustCompile(`^(is|has|does) `)

// withoutKey returns the problem without its key and the key's value, which the place says.
func (p *metadataProblem) withoutKey(value string) string {
	predicate, found := strings.CutPrefix(p.Text, p.Key+" ")
	predicate, quoted := strings.CutPrefix(predicate, strconv.Quote(strings.TrimSpace(value))+" ")
	if found && (quoted || verb.MatchString(predicate)) {
		return "it " + predicate
	}
	return strings.Replace(p.Text, strconv.Quote(strings.TrimSpace(value))+" as "+p.Key, "it", 1)
}

// isForm reports whether a value has a form that KEDA rejects.
func (p *metadataProblem) isForm() bool {
	return p.Kind == triggers.Broken || p.Kind == triggers.WrongType
}

// keyOfAnotherRelease finds keys that a release in question ignores and another reads. If
// the caller named no releases, only the newest counts, because older releases lack most
// keys.
func keyOfAnotherRelease(j *job) {
	for _, p := range j.metadata() {
		if p.Kind == triggers.UnknownKey && p.elsewhere && (j.scope.named || p.newest) {
			j.findMetadata(p)
		}
	}
}
