package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/tools/go/packages"
)

// allowed are the licenses of modules that a program under Apache-2.0 may contain. None asks
// for the source of the program; MPL-2.0 asks for changes of its own files.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-2-Clause-Views", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0"}

// byHand are modules that somebody has read, with what was found. Only the program of KEDA's
// scalers has them. Ask the authors of the one without a license before an image of it is
// published.
var byHand = map[string]string{
	"github.com/go-kivik/kivik/v4":                 "Apache-2.0; the file also quotes the licenses of CouchDB's parts",
	"github.com/nexus-rpc/nexus-proto-annotations": "no license file; KEDA's scaler of Temporal needs it",
}

// licenses prints the license of each module in the build of a released module. It returns
// an error for each license that is unknown or not allowed.
func (r *repository) licenses(ctx context.Context, out io.Writer) error {
	dirs := map[string]string{} // of the modules
	for _, module := range r.released {
		config := &packages.Config{Context: ctx, Env: append(os.Environ(), "GOWORK=off"), Dir: filepath.Join(r.dir, module), Mode: packages.NeedName | packages.NeedModule | packages.NeedImports | packages.NeedDeps}
		loaded, err := packages.Load(config, "./...")
		if err != nil {
			return err
		}
		packages.Visit(loaded, nil, func(p *packages.Package) {
			if m := p.Module; m != nil && m.Path != r.root && !strings.HasPrefix(m.Path, r.root+"/") {
				dirs[m.Path+" "+m.Version] = m.Dir
			}
		})
	}
	var problems []error
	for _, module := range slices.Sorted(maps.Keys(dirs)) {
		path, _, _ := strings.Cut(module, " ")
		if reason, ok := byHand[path]; ok {
			fmt.Fprintf(out, "%-60s %s\n", module, reason)
			continue
		}
		found, err := license(dirs[module])
		fmt.Fprintf(out, "%-60s %s\n", module, strings.Join(found, ", "))
		for _, id := range found {
			if !slices.Contains(allowed, id) {
				err = fmt.Errorf("license %s; use a module whose license is one of %s", id, strings.Join(allowed, ", "))
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", module, err))
		}
	}
	return errors.Join(problems...)
}

// license returns the licenses that the files in a module's directory hold.
func license(dir string) (found []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if file.IsDir() || !isLicense(strings.ToUpper(file.Name())) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		coverage := licensecheck.Scan(text)
		if coverage.Percent < 75 {
			return nil, fmt.Errorf("%s: %.0f %% of the text is a known license; read it", file.Name(), coverage.Percent)
		}
		for _, m := range coverage.Match {
			if !slices.Contains(found, m.ID) {
				found = append(found, m.ID)
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no license file; use another module")
	}
	return found, nil
}

// isLicense reports whether a file of this name, in capitals, holds a license. A table in CSV lists
// the licenses of other modules.
func isLicense(name string) bool {
	for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING"} {
		if strings.HasPrefix(name, prefix) {
			return filepath.Ext(name) != ".CSV"
		}
	}
	return false
}
