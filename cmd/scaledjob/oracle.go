package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
)

func newOracle() *cobra.Command {
	return &cobra.Command{
		Use:   "oracle",
		Short: "Answer JSON lines, to test another implementation against",
		Long: `Compute the decisions of the ScaledJob specification or of a release of KEDA, as JSON lines from
standard input to standard output.

` + oracle.Help,
		Example: `  echo '{"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2,"isActive":true}],"maxReplicaCount":3,"running":1}' | scaledjob oracle`,
		Args:    input.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			debug.SetGCPercent(400) // lines are small and many; a few more MiB make them a fifth faster
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
}
