//go:build !keda2.8

package conformance

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (c *cluster) Status() client.StatusWriter { return status{} }

// status takes every change of a status and keeps none.
type status struct{ client.StatusWriter }

func (status) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}
