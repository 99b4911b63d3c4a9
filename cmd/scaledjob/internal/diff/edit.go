package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// A setting is a field of the spec before and after an edit.
type setting struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"` // "" is not set
	After  string `json:"after,omitempty"`
}

// An Edit is the result of comparing two manifests under one release.
type Edit struct {
	Name        string        `json:"name"`
	Release     input.Release `json:"release"`
	Settings    []setting     `json:"settings"`
	Cases       int           `json:"cases"`
	Differences []difference  `json:"differences"`
	Rollout     string        `json:"rollout"` // the Jobs that the edit deletes

	triggers []manifest.Trigger
}

// Differs reports whether the manifests differ in anything.
func (e *Edit) Differs() bool { return len(e.Settings)+len(e.Differences) > 0 }

// CompareEdit compares two manifests of a ScaledJob. The running Jobs are those of the cluster, or -1 if they are not known.
func CompareEdit(flags *input.QueueFlags, before, after *input.ScaledJob, release input.Release, running int) (*Edit, error) {
	e := &Edit{Name: after.Name(), Release: release, Settings: settings(before, after), Differences: []difference{}}
	play := func(m *input.ScaledJob) (player, []manifest.Trigger, error) {
		if release.Paused(m) {
			m = unpaused(m)
		}
		triggers, targets, err := flags.Triggers(m)
		if err != nil {
			return nil, nil, err
		}
		p, err := playerOf(release, m, triggers, targets)
		return p, triggers, err
	}
	old, oldTriggers, err := play(before)
	if err != nil {
		return nil, before.Titled(err)
	}
	current, triggers, err := play(after)
	if err != nil {
		return nil, after.Titled(err)
	}
	e.triggers = triggers
	for _, c := range slices.Concat(grid(before, oldTriggers), grid(after, triggers)) {
		if len(oldTriggers) != len(triggers) { // the same work for each of them
			c.Queue = slices.Repeat(c.Queue[:1], max(len(oldTriggers), len(triggers)))
		}
		e.Cases++
		a, _ := old(cell{c.Queue[:len(oldTriggers)], c.Running, c.Pending})
		b, _ := current(cell{c.Queue[:len(triggers)], c.Running, c.Pending})
		if a != b {
			c.Queue = c.Queue[:len(triggers)]
			e.Differences = append(e.Differences, difference{c, a, b})
		}
	}
	e.Rollout = e.rollout(before, after, running)
	return e, nil
}

func (e *Edit) rollout(before, after *input.ScaledJob, running int) string {
	ofTemplate := before.TemplateHash != after.TemplateHash
	switch {
	case !e.Release.EditDeletes(after, ofTemplate):
		if e.Release.EditDeletes(after, true) {
			return "the edit deletes no Job: jobTargetRef is the same"
		}
		return "the edit deletes no Job"
	case running >= 0:
		return fmt.Sprintf("the edit deletes %s; %d have not finished", e.Release.Outdated(), running) + e.Release.Gradual(after)
	}
	return "the edit deletes " + e.Release.Outdated() + e.Release.Gradual(after)
}

func settings(before, after *input.ScaledJob) []setting {
	a, b := flat(before.Spec.Spec), flat(after.Spec.Spec)
	list := []setting{}
	paths := maps.Clone(a)
	maps.Copy(paths, b)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if a[path] != b[path] {
			list = append(list, setting{path, a[path], b[path]})
		}
	}
	return list
}

// flat returns the values of a spec in JSON by their paths.
func flat(spec any) map[string]string {
	values := map[string]string{}
	data, err := json.Marshal(spec)
	if err != nil {
		return values
	}
	var tree any
	_ = json.Unmarshal(data, &tree) // it was marshaled
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				walk(path+"."+key, child)
			}
		case []any:
			for i, child := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), child)
			}
		case nil:
		default:
			text, _ := json.Marshal(v)
			values[path] = string(text)
		}
	}
	walk("spec", tree)
	return values
}

// Print prints an edit. Without verbose it prints the first differences only.
func (e *Edit) Print(out io.Writer, verbose bool) {
	report.Fit(out, 0)
	if !e.Differs() {
		fmt.Fprintf(out, "%s: both manifests have the same spec, and create the same number of Jobs with %s.\n", input.Titled(e.Name), e.Release)
		return
	}
	if len(e.Differences) == 0 {
		fmt.Fprintf(out, "%s: with %s both manifests create the same number of Jobs in all %d polls that were compared.\n", input.Titled(e.Name), e.Release, e.Cases)
	} else {
		fmt.Fprintf(out, "%s: with %s the manifests create different numbers of Jobs in %d of the %d polls that were compared.\n", input.Titled(e.Name), e.Release, len(e.Differences), e.Cases)
	}
	if len(e.Settings) > 0 {
		fmt.Fprint(out, "\nSettings:\n")
		rows := [][]string{{"", "before", "after"}}
		for _, s := range e.Settings {
			rows = append(rows, []string{"  " + report.Clean(s.Path), displayed(s.Before), displayed(s.After)})
		}
		fmt.Fprint(out, report.Aligned("", false, rows))
	}
	if len(e.Differences) > 0 {
		fmt.Fprintln(out)
		c := comparison{Differences: e.Differences, triggers: e.triggers}
		c.tableOf(out, "before", "after", verbose)
	}
	fmt.Fprintf(out, "\n%s.\n", strings.ToUpper(e.Rollout[:1])+e.Rollout[1:])
}

func displayed(value string) string {
	if value == "" {
		return "not set"
	}
	return report.Clean(report.Cut(value, 40))
}
