package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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

// Set reads an engine's name.
func (e *engine) Set(name string) error {
	release, ok := strings.CutPrefix(name, "keda@")
	if name == core {
		e.profile = nil
		return nil
	}
	if !ok {
		return fmt.Errorf("want core, or a release such as keda@2.21")
	}
	p, err := keda.Release(release)
	if err != nil {
		return err
	}
	e.profile = &p
	return nil
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
