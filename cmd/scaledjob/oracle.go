package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
)

func newOracle() *cobra.Command {
	fields := false
	c := &cobra.Command{
		Use:   "oracle",
		Short: "Answer JSON lines, to test another implementation against",
		Long: `Answer questions about ScaledJobs: how many Jobs a poll creates, which finished or outdated Jobs are
deleted, what a strategy proposes, and the parts of these decisions. The answers are those of the
ScaledJob specification, or with "release" those of a release of KEDA.

A question is a JSON object on a line of standard input. Its answer is a line on standard output,
in the same order, with the same id:

  {"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2}],"maxReplicaCount":3,"running":1}
  {"id":1,"isActive":true,"queueLength":10,"target":3,"create":2,"total":3,"trace":"…"}

The trace shows each stage of the decision. --fields lists the fields of each kind of question.
A line that cannot be read is answered with an error, and the exit status is then 1.`,
		Example: `  echo '{"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2}],"maxReplicaCount":3}' | scaledjob oracle
  scaledjob oracle --fields
  scaledjob oracle < questions.jsonl > answers.jsonl`,
		Args: input.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if fields {
				_, err := fmt.Fprint(c.OutOrStdout(), oracle.Fields)
				return err
			}
			unreadable, err := oracle.Run(c.InOrStdin(), c.OutOrStdout())
			if err != nil {
				return err
			}
			if unreadable > 0 {
				fmt.Fprintf(c.ErrOrStderr(), "scaledjob: lines that could not be read: %d\n", unreadable)
				return input.ErrFound
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fields, "fields", false, "list the fields of questions and answers, and answer nothing")
	return c
}
