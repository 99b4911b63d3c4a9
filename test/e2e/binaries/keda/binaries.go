//go:build tools

// Package binaries holds the version of KEDA whose operator and metrics server are
// built and run beside the library.
package binaries

import (
	_ "github.com/kedacore/keda/v2/cmd/adapter"
	_ "github.com/kedacore/keda/v2/cmd/operator"
)
