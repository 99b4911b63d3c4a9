// Release makes the commit and the tags of a release, and checks that a release can be
// installed and imported.
//
//	release -version v0.1.0    make the commit and the tags in this clone
//	release -check             publish to a module proxy in a temporary directory, and use it
//
// On the main branch the modules are tied by replace directives. A released module has none.
// The release is a commit beside the branch: its parent is HEAD, its tags name it, and
// neither the branch nor the working tree changes. Nothing is pushed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	version := flag.String("version", "", "version to release, such as v0.1.0")
	check := flag.Bool("check", false, "check a release of HEAD from a temporary module proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *version, *check); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version string, check bool) error {
	r, err := open(ctx, ".")
	if err != nil {
		return err
	}
	switch {
	case check && version == "":
		return r.check(ctx, os.Stdout)
	case !check && version != "":
		tags, err := r.release(ctx, version)
		for _, tag := range tags {
			fmt.Println("tagged", tag)
		}
		return err
	}
	return errors.New("use either -version v0.1.0 or -check")
}
