package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/scaledjob/scaledjob/examples/internal/process"
)

// lease is the one of those controllers that act in the same namespace, or in all.
func (c *controller) lease() process.Lease {
	return process.Lease{
		Client: c.client, Namespace: cmp.Or(c.leaseNamespace, podNamespace(), "default"),
		Name: strings.TrimSuffix(name+"-"+c.namespace, "-"), Duration: c.leaseDuration, Log: c.log,
	}
}

// podNamespace is the pod's namespace, where this is a pod.
func podNamespace() string {
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
