// Release creates the commit and the tags of a release, and checks a release before it is
// published.
//
//	release v0.1.0 [NAME=REGISTRY/NAME@sha256:DIGEST ...]
//	                    create the commit and the tags in this clone; the manifests name these images
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
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
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
	if len(args) == 0 {
		return errors.New("no arguments; use a version such as v0.1.0 with images, check, compare or licenses")
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
	images, err := parseImages(args[1:])
	if err != nil {
		return err
	}
	tags, tagged, err := r.release(ctx, args[0], images)
	for _, tag := range tags {
		fmt.Println("tagged", tag)
	}
	for _, image := range tagged {
		fmt.Printf("image %s has no digest: its manifest names the tag %s\n", image, args[0])
	}
	if err == nil { // GitHub starts no workflow for more than three tags at once
		fmt.Printf("nothing is pushed; publish the modules, and then the archives that need them:\n  git push origin %s\n  git push origin %s\n",
			strings.Join(tags[1:], " "), tags[0])
	}
	return err
}
