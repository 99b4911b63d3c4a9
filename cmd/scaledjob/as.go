package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
)

const core = "core"

// An engine is whose rules count: the core's, or those of a release of KEDA.
type engine struct {
	profile *keda.Profile // nil is the core
}

// String is the engine's name, as in --as.
func (e engine) String() string {
	if e.profile == nil {
		return core
	}
	return e.profile.String()
}

// Set reads an engine's name; that of a release may leave out "keda@".
func (e *engine) Set(name string) error {
	if name == core {
		e.profile = nil
		return nil
	}
	if !strings.HasPrefix(name, "keda@") && !strings.HasPrefix(name, "2.") {
		return fmt.Errorf("want core, or a release such as keda@2.21")
	}
	p, err := releaseOf(name)
	if err != nil {
		return err
	}
	e.profile = &p
	return nil
}

// releaseOf reads a release, as in "2.21" and "keda@2.21".
func releaseOf(name string) (keda.Profile, error) {
	return keda.Release(strings.TrimPrefix(strings.TrimSpace(name), "keda@"))
}

// paused reports whether the engine leaves the ScaledJob alone.
func (e engine) paused(m *manifest) bool {
	if e.profile != nil {
		return e.profile.Paused(m.keda)
	}
	text, found := m.core.Annotations[adapter.AnnotationPaused]
	on, err := strconv.ParseBool(text)
	return found && (on || err != nil)
}

// Type is what Set takes.
func (e *engine) Type() string { return "engine" }

func newestKEDA() engine {
	p := keda.Newest()
	return engine{&p}
}

// add adds a flag for an engine, which completes.
func (e *engine) add(c *cobra.Command, name, usage string) {
	c.Flags().Var(e, name, usage+": `core`, or a release such as keda@2.21 (its last patch) or keda@2.14.1")
	_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names := []string{core}
		for _, r := range keda.Releases() {
			names = append(names, "keda@"+r)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// A format is one of those that a command can print.
type format struct {
	text   string
	others []string
}

// String is the format's name.
func (f *format) String() string { return f.text }

// Set takes one of the names.
func (f *format) Set(name string) error {
	for _, known := range f.others {
		if name == known {
			f.text = name
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(f.others, ", "))
}

// Type is what Set takes.
func (f *format) Type() string { return "format" }

func (f *format) add(c *cobra.Command, names ...string) {
	f.text, f.others = names[0], names
	c.Flags().VarP(f, "output", "o", "one of `"+strings.Join(names, "|")+"`")
	_ = c.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
