package main

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
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// spec is the name of the written specification, beside the releases of KEDA.
const spec = "spec"

// A release is a release of KEDA, or the written specification.
type release struct {
	profile *keda.Profile // nil is the specification
}

func newestKEDA() release {
	p := keda.Newest()
	return release{&p}
}

// parseRelease reads "2.18", which is its last patch, "2.18.1", "v2.18.1", or "spec".
func parseRelease(name string) (release, error) {
	name = strings.TrimSpace(name)
	if name == spec {
		return release{}, nil
	}
	p, err := keda.Release(name)
	if err != nil {
		all := keda.Releases()
		return release{}, fmt.Errorf("unknown release %q; use 2.0 to %s, a patch such as 2.14.1, or spec for the written specification",
			name, minor(all[len(all)-1]))
	}
	return release{&p}, nil
}

// minor returns a release without its patch.
func minor(release string) string { return release[:strings.LastIndexByte(release, '.')] }

// name is the release as --release reads it.
func (r release) name() string {
	if r.profile == nil {
		return spec
	}
	return r.profile.Release()
}

// String is the release for people.
func (r release) String() string {
	if r.profile == nil {
		return "the specification"
	}
	return "KEDA " + r.name()
}

// MarshalText returns the release as --release reads it.
func (r release) MarshalText() ([]byte, error) { return []byte(r.name()), nil }

// UnmarshalJSON reads a release. It must be a string: YAML reads 2.20 as the number 2.2.
// A null is ignored.
func (r *release) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("release %s: not a string; use quotes, such as \"2.20\"", data)
	}
	read, err := parseRelease(text)
	if err == nil {
		*r = read
	}
	return err
}

// version returns the release, or for the specification the newest release.
func (r release) version() string {
	if r.profile == nil {
		return newestKEDA().profile.Release()
	}
	return r.profile.Release()
}

// paused reports whether the ScaledJob is left alone.
func (r release) paused(m *scaledJob) bool {
	if r.profile != nil {
		return r.profile.Paused(m.keda)
	}
	text, found := m.spec.Annotations[manifest.AnnotationPaused]
	on, err := strconv.ParseBool(text)
	return found && (on || err != nil)
}

// releases is a flag of one or several releases. Its first use replaces the default.
type releases struct {
	all     []release
	several bool
	given   bool
}

func newestOnly() releases { return releases{all: []release{newestKEDA()}} }

// String lists the releases.
func (r *releases) String() string {
	var names []string
	for _, one := range r.all {
		names = append(names, one.name())
	}
	return strings.Join(names, ",")
}

// Set reads a release, or several between commas.
func (r *releases) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("found no release; use one such as 2.21, or spec")
	}
	if !r.given || !r.several {
		r.all, r.given = nil, true
	}
	for name := range strings.SplitSeq(text, ",") {
		one, err := parseRelease(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.all, func(has release) bool { return has.name() == one.name() }) {
			r.all = append(r.all, one)
		}
	}
	if !r.several && len(r.all) != 1 {
		return fmt.Errorf("found %d releases; use one", len(r.all))
	}
	return nil
}

// Type names the value in the help.
func (r *releases) Type() string { return "release" }

// one returns the release of a flag with a single value.
func (r *releases) one() release { return r.all[0] }

// add adds a flag. Its default is the newest KEDA.
func (r *releases) add(c *cobra.Command, flag, usage string) {
	r.all = newestOnly().all
	c.Flags().Var(r, flag, usage+": `release` of KEDA such as 2.21 or 2.14.1, or spec for the written specification")
	complete(c, flag, releaseNames)
}

// addSeveral adds a flag that takes several.
func (r *releases) addSeveral(c *cobra.Command, flag, usage string) {
	r.several = true
	r.add(c, flag, usage)
	c.Flag(flag).Usage += "; several between commas"
}

func releaseNames() []string { return append([]string{spec}, keda.Releases()...) }

// complete completes a flag with names, also the last of several between commas.
func complete(c *cobra.Command, flag string, names func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var all []string
		for _, n := range names() {
			all = append(all, before+n)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}

// A choice is a flag with a few values.
type choice struct {
	text   string
	others []string
}

// String is the chosen value.
func (f *choice) String() string { return f.text }

// Set accepts a value of the list.
func (f *choice) Set(name string) error {
	if !slices.Contains(f.others, name) {
		return fmt.Errorf("use one of %s", strings.Join(f.others, ", "))
	}
	f.text = name
	return nil
}

// Type names the value in the help.
func (f *choice) Type() string { return "choice" }

// add adds a flag, with a shorthand after a comma. Its default is the first value.
func (f *choice) add(c *cobra.Command, flag, usage string, values ...string) {
	f.text, f.others = values[0], values
	flag, short, _ := strings.Cut(flag, ",")
	c.Flags().VarP(f, flag, short, usage+": `"+strings.Join(values, "|")+"`")
	complete(c, flag, func() []string { return values })
}

// addOutput adds -o.
func (f *choice) addOutput(c *cobra.Command, values ...string) {
	f.add(c, "output,o", "format of the output", values...)
}

// flagError rewrites an error of the flag parser as a fix.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := triggers.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return usagef("unknown flag --%s; use --%s", missing.GetSpecifiedName(), near)
		}
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usageError{err}
	}
	fix := map[string]string{
		"int": "use a whole number", "int64": "use a whole number", "uint64": "use a whole number of 0 or more",
		"bool": "use true or false", "duration": "use a time such as 30s or 1h30m",
	}[invalid.GetFlag().Value.Type()]
	return usagef("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cmp.Or(fix, errorText(invalid.Unwrap())))
}

func errorText(err error) string {
	if err == nil {
		return "invalid value"
	}
	return err.Error()
}
