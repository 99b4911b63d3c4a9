package diff

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A change is a rule of a part before and after.
type change struct {
	Part    string `json:"behavior"`
	From    string `json:"from"`
	After   string `json:"to"`
	Release string `json:"since,omitempty"` // the release that brought the newer of the two
}

// rules finds the rules that cause the difference. A rule does if putting it into one
// profile, or removing it from the other, changes a different answer.
func (c *comparison) rules(from, target keda.Profile, m *input.ScaledJob) {
	before, after := kedaPlayer(from, m, c.triggers), kedaPlayer(target, m, c.triggers)
	for _, r := range keda.Changes(from, target) {
		patched, reverted := kedaPlayer(from.With(r.To), m, c.triggers), kedaPlayer(target.With(r.From), m, c.triggers)
		if name := r.From.Behavior; slices.Contains(keda.Strategies(), name) && m.KEDA.Spec.ScalingStrategy.Strategy != name {
			c.Unused = append(c.Unused, name)
			continue
		}
		said := change{r.From.Behavior, r.From.Text, r.To.Text, r.To.Since}
		if releases := keda.Releases(); slices.Index(releases, from.Release()) > slices.Index(releases, target.Release()) {
			said.Release = r.From.Since
		}
		if slices.ContainsFunc(c.Differences, func(d difference) bool {
			return patched.differs(before, d.cell) || reverted.differs(after, d.cell)
		}) {
			c.Because = append(c.Because, said)
		} else {
			c.Besides = append(c.Besides, said)
		}
	}
}

func (p player) differs(other player, c cell) bool {
	a, _ := p(c)
	b, _ := other(c)
	return a != b
}

// counted names what a metric counts.
var counted = map[triggers.Counting]string{0: "unknown", triggers.Includes: "counts in-progress items", triggers.LeavesOut: "leaves out in-progress items"}

// metrics finds the triggers that count in-progress items under one release alone:
// the same queue has another length.
func (c *comparison) metrics(m *input.ScaledJob) {
	if c.From.Profile == nil || c.After.Profile == nil {
		return
	}
	for i, t := range c.triggers {
		in := scenario.TriggerInput(m, i)
		before, _ := triggers.Counts(t.Type, c.From.Version(), in)
		after, _ := triggers.Counts(t.Type, c.After.Version(), in)
		if before != after && before != 0 && after != 0 {
			c.Metrics = append(c.Metrics, change{Part: "the metric of " + t.Name, From: counted[before], After: counted[after]})
		}
	}
}

// brought finds the releases from one to the other that changed an answer of the differences,
// or a metric.
func (c *comparison) brought(m *input.ScaledJob) {
	if c.From.Profile == nil || c.After.Profile == nil || len(c.Differences)+len(c.Metrics) == 0 {
		return
	}
	releases := keda.Releases()
	first, last := slices.Index(releases, c.From.Version()), slices.Index(releases, c.After.Version())
	if first > last {
		first, last = last, first
	}
	for i := max(0, first) + 1; i <= last; i++ {
		before, errBefore := keda.Release(releases[i-1])
		after, errAfter := keda.Release(releases[i])
		if errBefore != nil || errAfter != nil {
			continue
		}
		step := comparison{From: input.Release{Profile: &before}, After: input.Release{Profile: &after}, triggers: c.triggers}
		step.metrics(m)
		old, now := kedaPlayer(before, m, c.triggers), kedaPlayer(after, m, c.triggers)
		if len(step.Metrics) > 0 || slices.ContainsFunc(c.Differences, func(d difference) bool { return old.differs(now, d.cell) }) {
			c.Brought = append(c.Brought, releases[i])
		}
	}
}

// notes adds the features that only one release lacks, and the fields that it rejects.
func (c *comparison) notes(m *input.ScaledJob) {
	before, after := problemsUnder(c.From, m), problemsUnder(c.After, m)
	for _, err := range before {
		if !said(after, err) {
			c.Notes = append(c.Notes, err.Error())
		}
	}
	for _, err := range after {
		var refused *field.Error
		switch {
		case said(before, err):
		case errors.As(err, &refused):
			c.Refused = append(c.Refused, refusal(c.After, m, refused))
		default:
			c.Notes = append(c.Notes, err.Error())
		}
	}
}

// Rejected returns what lint finds in files for the second of two releases alone: parameters that it rejects or no longer reads.
func Rejected(files []lint.File, before, after input.Release) (findings []lint.Finding) {
	if before.Profile == nil || after.Profile == nil {
		return nil
	}
	type key struct{ file, rule, path, found, object string }
	keyOf := func(f lint.Finding) key { return key{f.File, f.Rule, f.Path, f.Found, f.Object} }
	old := map[key]bool{}
	for _, f := range lint.Check(files, *before.Profile).Findings {
		old[keyOf(f)] = true
	}
	for _, f := range lint.Check(files, *after.Profile).Findings {
		if f.Severity >= lint.Warning && breaks(f.Rule) && !old[keyOf(f)] {
			findings = append(findings, f)
		}
	}
	return findings
}

// rejected adds the findings about a ScaledJob, and about objects that it may use, unless the comparison has them already.
func (c *comparison) rejected(m *input.ScaledJob, findings []lint.Finding) {
	for _, f := range findings {
		name := f.Object[strings.LastIndex(f.Object, "/")+1:]
		listed := slices.ContainsFunc(c.Refused, func(text string) bool { return strings.Contains(text, f.Path+":") })
		if (name == m.Name() || name == "") && !listed {
			c.Refused = append(c.Refused, fmt.Sprintf("with %s: %s [%s]", c.After, f.Message(), f.Rule))
		}
	}
}

// breaks reports whether a rule of lint is about what a release rejects or does not read.
func breaks(rule string) bool {
	return strings.HasPrefix(rule, "trigger-") || slices.Contains([]string{"wrong-type", "unknown-field", "unsupported-feature", "missing-field", "authentication-rejected", "target-invalid", "activation-invalid"}, rule)
}

// problemsUnder returns the features that a release lacks and the fields that it rejects. The
// specification has none.
func problemsUnder(e input.Release, m *input.ScaledJob) []error {
	if e.Profile == nil {
		return nil
	}
	joined, ok := e.Profile.Validate(m.KEDA).(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	return joined.Unwrap()
}

// said reports whether all has an error about the same feature or field.
func said(problems []error, err error) bool {
	return slices.ContainsFunc(problems, func(other error) bool { return about(other) == about(err) })
}

func about(err error) string {
	var lacks *keda.UnsupportedError
	var refused *field.Error
	switch {
	case errors.As(err, &lacks):
		return "lacks " + lacks.Feature.String()
	case errors.As(err, &refused):
		return "refuses " + refused.Path
	}
	return err.Error()
}

// refusal returns the range of releases around this release that reject a field.
func refusal(e input.Release, m *input.ScaledJob, refused *field.Error) string {
	releases := keda.Releases()
	refuses := func(i int) bool {
		p, err := keda.Release(releases[i])
		return err == nil && said(problemsUnder(input.Release{Profile: &p}, m), refused)
	}
	first := slices.Index(releases, e.Profile.Release())
	last := first
	for first > 0 && refuses(first-1) {
		first--
	}
	for last+1 < len(releases) && refuses(last+1) {
		last++
	}
	period := fmt.Sprintf("from %s on", strings.TrimSuffix(releases[first], ".0"))
	if last+1 < len(releases) {
		period = fmt.Sprintf("from %s to %s", releases[first], releases[last])
	}
	return fmt.Sprintf("the API server rejects it %s: %s", period, refused)
}

func (c *comparison) paragraph(out io.Writer, title string, changes []change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	width := max(len(c.From.String()), len(c.After.String()))
	for _, r := range changes {
		suffix := ""
		if r.Release != "" {
			suffix = ", since KEDA " + r.Release
		}
		fmt.Fprintf(out, "  %s%s\n", r.Part, suffix)
		fmt.Fprintf(out, "    %-*s  %s\n", width, c.From, r.From)
		fmt.Fprintf(out, "    %-*s  %s\n", width, c.After, strings.TrimSpace(r.After))
	}
}
