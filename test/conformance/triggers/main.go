// Command triggers reads the parameters of KEDA's scalers out of KEDA's source code, and the
// fields of its CRDs. It writes the table of cmd/scaledjob/internal/triggers, the targets of
// adapter/manifest and the fields of cmd/scaledjob/internal/crd:
//
//	go run ./triggers -C ../..
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/scaledjob/scaledjob/keda"
)

// versions are the newest patches of the minor releases in the table: of all since 2.8.
var versions = func() (list []string) {
	for minor := 8; ; minor++ {
		release, err := keda.Release(fmt.Sprintf("2.%d", minor))
		if err != nil {
			return list
		}
		list = append(list, "v"+release.Release())
	}
}()

func main() {
	root := flag.String("C", "../../..", "root of the repository")
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
	fields, err := crdTable()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"cmd/scaledjob/internal/crd/fields.txt":      fields,
		"cmd/scaledjob/internal/triggers/table.json": encode(tableOf(readings)),
		"adapter/manifest/triggers_generated.go":     newest.targets(),
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
			parameters, open := newest.scaler(constructor)
			types[kind] = reading{parameters, open}
		}
		readings = append(readings, types)
	}
	declareByHand(readings)
	return readings, newest, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
