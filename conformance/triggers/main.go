// Command triggers reads the parameters of KEDA's scalers out of KEDA's source code. It
// writes the table of cmd/scaledjob/lint/triggers and the targets of adapter/scaledjob:
//
//	go run ./triggers -C ..
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// versions are the newest patches of the minor releases in the table.
var versions = []string{"v2.8.2", "v2.9.3", "v2.10.1", "v2.11.2", "v2.12.1", "v2.13.1", "v2.14.1", "v2.15.1", "v2.16.1", "v2.17.3",
	"v2.18.3", "v2.19.0", "v2.20.2", "v2.21.0"}

func main() {
	root := flag.String("C", "../..", "root of the repository")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(root string) error {
	readings, newest, err := readAll()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"cmd/scaledjob/lint/triggers/table.json": encode(tableOf(readings)),
		"adapter/manifest/triggers_generated.go": newest.targets(),
	} {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads the scalers of all releases, and returns the newest source as well.
func readAll() (readings []map[string]reading, newest *source, err error) {
	for _, v := range versions {
		dir, err := download(v)
		if err != nil {
			return nil, nil, err
		}
		if newest, err = load(dir); err != nil {
			return nil, nil, err
		}
		types := map[string]reading{}
		for kind, constructor := range newest.constructors() {
			all, open := newest.scaler(constructor)
			types[kind] = reading{all, open}
		}
		readings = append(readings, types)
	}
	declareByHand(readings)
	return readings, newest, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func clone[K comparable, V any](m map[K]V) map[K]V { return maps.Clone(m) }
