package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// indented matches the lines that stay as they are.
var indented = regexp.MustCompile(`(?m)(?:^ .*\n)+`)

// newMan writes the manual pages, which the archives of a release contain.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write the manual pages",
		Long:    "Write a manual page for each command into a directory.",
		Example: "  scaledjob man /usr/local/share/man/man1",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return input.Usagef("found %d directories; use one, such as /usr/local/share/man/man1", len(args))
			}
			if err := os.MkdirAll(filepath.Clean(args[0]), 0o755); err != nil {
				return input.FileError(args[0], err)
			}
			root := c.Root()
			root.DisableAutoGenTag = true // its date would change each release's files
			for _, command := range root.Commands() {
				command.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = false })
				command.Long = indented.ReplaceAllString(command.Long+"\n", "\n```\n$0```\n\n")
			}
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "scaledjob", Manual: "scaledjob"}, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}
