//go:build tools

// Package binaries holds the versions that etcd is built with.
package binaries

import _ "go.etcd.io/etcd/server/v3"
