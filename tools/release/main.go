// Release creates the commit and the tags of a release, and checks a release before it is
// published.
//
//	release v0.1.0      create the commit and the tags in this clone
//	release check       publish to a module proxy in a temporary directory, and use it
//	release compare     compare the Go API with the newest release
//	release licenses    print the licenses of the dependencies
//
// On the main branch the modules are tied by replace directives. A released module has none.
// The release is a commit beside the branch: its parent is HEAD, its tags name it, and
// neither the branch nor the working tree changes. Nothing is pushed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments; use one: a version such as v0.1.0, check, compare or licenses", len(args))
	}
	r, err := open(ctx, ".")
	if err != nil {
		return err
	}
	switch args[0] {
	case "check":
		return r.check(ctx, os.Stdout)
	case "compare":
		return r.compare(ctx, os.Stdout)
	case "licenses":
		return r.licenses(ctx, os.Stdout)
	}
	tags, err := r.release(ctx, args[0])
	for _, tag := range tags {
		fmt.Println("tagged", tag)
	}
	return err
}
