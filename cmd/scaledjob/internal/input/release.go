package input

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
)

// Spec is the name of the written specification, beside the releases of KEDA.
const Spec = "spec"

// A Release is a release of KEDA, or the written specification.
type Release struct {
	Profile *keda.Profile // nil is the specification
}

func newestKEDA() Release {
	p := keda.Newest()
	return Release{&p}
}

// ParseRelease reads "2.18", which is its last patch, "2.18.1", "v2.18.1", or "spec".
func ParseRelease(name string) (Release, error) {
	name = strings.TrimSpace(name)
	if name == Spec {
		return Release{}, nil
	}
	p, err := keda.Release(name)
	if err != nil {
		releases := keda.Releases()
		return Release{}, fmt.Errorf("unknown release %q; use 2.0 to %s, a patch such as 2.14.1, or spec for the written specification",
			name, minor(releases[len(releases)-1]))
	}
	return Release{&p}, nil
}

func minor(release string) string { return release[:strings.LastIndexByte(release, '.')] }

// name is the release as --release reads it.
func (r Release) name() string {
	if r.Profile == nil {
		return Spec
	}
	return r.Profile.Release()
}

// String is the release for people.
func (r Release) String() string {
	if r.Profile == nil {
		return "the specification"
	}
	return "KEDA " + r.name()
}

// MarshalText returns the release as --release reads it.
func (r Release) MarshalText() ([]byte, error) { return []byte(r.name()), nil }

// UnmarshalJSON reads a release. It must be a string: YAML reads 2.20 as the number 2.2.
func (r *Release) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("release %s: not a string; use quotes, such as \"2.20\"", data)
	}
	read, err := ParseRelease(text)
	if err == nil {
		*r = read
	}
	return err
}

// Version returns the release, or for the specification the newest release.
func (r Release) Version() string {
	if r.Profile == nil {
		return newestKEDA().Profile.Release()
	}
	return r.Profile.Release()
}

// Paused reports whether the ScaledJob is left alone.
func (r Release) Paused(m *ScaledJob) bool {
	if r.Profile != nil {
		return r.Profile.Paused(m.KEDA)
	}
	text, found := m.Spec.Annotations[manifest.AnnotationPaused]
	paused, err := strconv.ParseBool(text)
	return found && (paused || err != nil)
}

// Releases is a flag of one or several releases. Its first use replaces the default.
type Releases struct {
	Cluster bool // the release of the cluster's operator is meant
	List    []Release
	several bool
	cluster bool // the word cluster is allowed
	set     bool
}

// NewestOnly returns the newest release of KEDA alone.
func NewestOnly() Releases { return Releases{List: []Release{newestKEDA()}} }

// String lists the releases.
func (r *Releases) String() string {
	var names []string
	for _, release := range r.List {
		names = append(names, release.name())
	}
	return strings.Join(names, ",")
}

// Set reads a release, or several between commas.
func (r *Releases) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("found no release; use one such as 2.21, or spec")
	}
	if !r.set || !r.several {
		r.List, r.set = nil, true
	}
	if r.cluster && strings.TrimSpace(text) == "cluster" {
		r.Cluster = true
		return nil
	}
	for name := range strings.SplitSeq(text, ",") {
		release, err := ParseRelease(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.List, func(listed Release) bool { return listed.name() == release.name() }) {
			r.List = append(r.List, release)
		}
	}
	if !r.several && len(r.List) != 1 {
		return fmt.Errorf("found %d releases; use one", len(r.List))
	}
	return nil
}

// Changed reports whether the flag is used.
func (r *Releases) Changed() bool { return r.set }

// Type names the value in the help.
func (r *Releases) Type() string { return "release" }

// Single returns the release of a flag with a single value.
func (r *Releases) Single() Release { return r.List[0] }

// Add adds a flag. Its default is the newest KEDA.
func (r *Releases) Add(c *cobra.Command, flag, usage string) {
	r.List = NewestOnly().List
	c.Flags().Var(r, flag, usage+" `release` of KEDA, such as 2.21 or 2.14.1, or spec")
	complete(c, flag, releaseNames)
}

// AllowCluster accepts the word cluster.
func (r *Releases) AllowCluster() { r.cluster = true }

// AddSeveral adds a flag that takes several.
func (r *Releases) AddSeveral(c *cobra.Command, flag, usage string) {
	r.several = true
	r.Add(c, flag, usage)
	c.Flag(flag).Usage += "; commas between several"
}

func releaseNames() []string { return append([]string{Spec}, keda.Releases()...) }

// complete completes a flag with names, also the last of several between commas.
func complete(c *cobra.Command, flag string, names func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var completions []string
		for _, n := range names() {
			completions = append(completions, before+n)
		}
		return completions, cobra.ShellCompDirectiveNoFileComp
	})
}

// A Choice is a flag with a few values.
type Choice struct {
	Text   string
	others []string
}

// String is the chosen value.
func (f *Choice) String() string { return f.Text }

// Set accepts a value of the list.
func (f *Choice) Set(name string) error {
	if !slices.Contains(f.others, name) {
		return fmt.Errorf("use one of %s", strings.Join(f.others, ", "))
	}
	f.Text = name
	return nil
}

// Type names the value in the help.
func (f *Choice) Type() string { return "value" }

// Add adds a flag, with a shorthand after a comma. Its default is the first value.
func (f *Choice) Add(c *cobra.Command, flag, usage string, values ...string) {
	f.Text, f.others = values[0], values
	flag, short, _ := strings.Cut(flag, ",")
	c.Flags().VarP(f, flag, short, usage+": "+strings.Join(values, ", "))
	complete(c, flag, func() []string { return values })
}

// AddOutput adds -o.
func (f *Choice) AddOutput(c *cobra.Command, values ...string) {
	f.Add(c, "output,o", "format of the output", values...)
}

// FlagError rewrites an error of the flag parser as a fix.
func FlagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := triggers.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return Usagef("unknown flag --%s; use --%s", missing.GetSpecifiedName(), near)
		}
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return Usage(err)
	}
	fix := map[string]string{
		"int": "use a whole number", "int64": "use a whole number", "uint64": "use a whole number of 0 or more",
		"bool": "use true or false", "duration": "use a time such as 30s or 1h30m",
	}[invalid.GetFlag().Value.Type()]
	return Usagef("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cmp.Or(fix, invalid.Unwrap().Error()))
}

// EditDeletes reports whether an edit of the spec deletes Jobs of the ScaledJob, with one of
// spec.jobTargetRef or without. KEDA deletes the Jobs of older generations, and an edit of anything makes one.
func (r Release) EditDeletes(m *ScaledJob, ofTemplate bool) bool {
	if r.Profile == nil {
		written := m.Spec.Spec
		return ofTemplate && cmp.Or(written.Rollout.Strategy, written.RolloutStrategy) != rollout.Gradual.String()
	}
	return r.Deletes(*m.KEDA, "1")
}

// Deletes reports whether KEDA deletes a Job of that generation, if the present one is 2.
func (r Release) Deletes(m keda.ScaledJob, generation string) bool {
	m.Generation = 2
	job := keda.Job{Annotations: map[string]string{manifest.AnnotationGeneration: generation}}
	return len(r.Profile.Rollout(&m, []keda.Job{job}).Deleted) > 0
}

// Gradual returns the setting with which edits delete no Job, after a semicolon. It is empty if the release has none.
func (r Release) Gradual(m *ScaledJob) string {
	if r.Profile == nil {
		return "; rollout.strategy: gradual keeps them"
	}
	newer, older := *m.KEDA, *m.KEDA
	newer.Spec.Rollout.Strategy, older.Spec.RolloutStrategy = "gradual", "gradual"
	switch {
	case !r.Deletes(newer, "1"):
		return "; rollout.strategy: gradual keeps them"
	case !r.Deletes(older, "1"):
		return "; rolloutStrategy: gradual keeps them"
	}
	return ""
}

// Outdated are the Jobs that an edit deletes if it deletes any. KEDA does not ask whether a Job has finished.
func (r Release) Outdated() string {
	if r.Profile != nil {
		return "all Jobs, also running and finished ones"
	}
	return "the unfinished Jobs, running ones too"
}

// Edits says which edits of the spec delete which Jobs.
func (r Release) Edits(m *ScaledJob) string {
	jobs, fix := r.Outdated(), r.Gradual(m)
	switch {
	case !r.EditDeletes(m, true):
		return "no edit deletes a Job"
	case r.Profile != nil && r.Deletes(*m.KEDA, "2"):
		return "any edit of the spec, and any restart of KEDA's operator, deletes " + jobs + fix
	case r.Profile != nil:
		return "any edit of the spec, such as of maxReplicaCount, deletes " + jobs + fix
	case cmp.Or(m.Spec.Spec.Rollout.Strategy, m.Spec.Spec.RolloutStrategy) == rollout.Drain.String():
		jobs, fix = "the Jobs of which no pod has started", ""
	}
	return "an edit of jobTargetRef deletes " + jobs + "; other edits delete none" + fix
}
