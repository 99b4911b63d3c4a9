// Package testdata holds the test vectors, for the tests of all modules. README.md describes
// the files.
package testdata

import "embed"

// Files holds the JSON files and the directory manifests.
//
//go:embed *.json manifests
var Files embed.FS
