package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

type explain struct {
	manifestFlags
	queueFlags
	jobFlags
	as     engine
	output format
}

func newExplain() *cobra.Command {
	e := &explain{as: newestKEDA()}
	c := &cobra.Command{
		Use:   "explain -f scaledjob.yaml --queue 12",
		Short: "Tell how many Jobs a ScaledJob creates, and why",
		Long: `Tell how many Jobs a ScaledJob creates in one poll, and how each stage came to its number.

T is the Jobs that would serve the queue, R those that have not finished, P the pending and S the stuck
among them, and M the most that the queue may have.`,
		Example: `  # 12 items wait; 3 Jobs run, one of them has not started
  scaledjob explain -f scaledjob.yaml --queue 12 --running 3 --pending 1

  # an older release, and the rules as they are documented
  scaledjob explain -f scaledjob.yaml --queue 12 --as keda@2.18
  scaledjob explain -f scaledjob.yaml --queue 12 --as core

  # two triggers, of which one cannot be read
  scaledjob explain -f scaledjob.yaml --queue rabbitmq=12,redis=unread

  # as the cluster has it
  kubectl get scaledjob orders -o yaml | scaledjob explain -f - --queue 12`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.run(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	e.manifestFlags.add(c)
	e.queueFlags.add(c)
	e.jobFlags.add(c)
	e.as.add(c, "as", "whose rules")
	e.output.add(c, "text", "json")
	return c
}

func (e *explain) run(stdin io.Reader, out, notes io.Writer) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.known(e.as); err != nil {
		return err
	}
	manifests, err := e.read(stdin)
	if err != nil {
		return err
	}
	for i, m := range manifests {
		told, err := e.decide(m)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", m.file, m.name(), err)
		}
		if err := told.print(out, e.output.text, i > 0, len(manifests) > 1); err != nil {
			return err
		}
		for _, n := range told.Notes {
			fmt.Fprintf(notes, "note: %s\n", n)
		}
	}
	return nil
}

// A told is what explain prints of one ScaledJob.
type told struct {
	Name   string   `json:"name"`
	As     string   `json:"as"`
	Create int64    `json:"create"`
	Why    string   `json:"why"`
	Panic  bool     `json:"panic,omitempty"`
	Trace  string   `json:"trace"`
	Notes  []string `json:"notes,omitempty"`
}

func (t told) print(out io.Writer, format string, again, several bool) error {
	if format == "json" {
		return json.NewEncoder(out).Encode(t)
	}
	if again {
		fmt.Fprintln(out)
	}
	if several {
		fmt.Fprintf(out, "%s\n", t.Name)
	}
	_, err := fmt.Fprintln(out, t.Trace)
	return err
}

func (e *explain) decide(m *manifest) (told, error) {
	triggers, targets, err := e.triggers(m)
	if err != nil {
		return told{}, err
	}
	lengths, err := e.lengths(triggers)
	if err != nil {
		return told{}, err
	}
	if e.as.profile == nil {
		if m.strict != nil {
			return told{}, m.strict
		}
		config, err := m.core.Config(targets)
		if err != nil {
			return told{}, err
		}
		d := scaling.Decide(config.Policy, scaling.State{Metrics: metrics(triggers, lengths), Jobs: e.jobs()})
		t := told{Name: m.name(), As: core, Create: d.Create, Why: d.Rule.String(), Trace: d.String()}
		for _, w := range config.Warnings {
			t.Notes = append(t.Notes, w.Error())
		}
		return t, nil
	}
	all := scalers(triggers, lengths)
	d := e.as.profile.Decide(m.keda, keda.State{Scalers: all, Running: e.running, Pending: e.pending})
	return told{
		Name: m.name(), As: e.as.String(), Create: d.Create, Why: d.Reason.String(), Panic: d.Fault.Panics(), Trace: d.String(),
		Notes: e.as.notes(m, all),
	}, nil
}

// notes are what a release does not do, or would not let pass.
func (e engine) notes(m *manifest, scalers []keda.Scaler) []string {
	var notes []string
	for _, err := range []error{e.profile.Validate(m.keda, scalers...), m.strict} {
		if err != nil {
			notes = append(notes, strings.Split(err.Error(), "\n")...)
		}
	}
	return notes
}
