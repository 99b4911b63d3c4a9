// Package manifests holds the custom resources, to install them from a program.
package manifests

import "embed"

// CRDs are the files that define them.
//
//go:embed crds/distributed*.yaml
var CRDs embed.FS
