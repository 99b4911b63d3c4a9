package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An Operator is KEDA's operator in a cluster.
type Operator struct {
	Release string // of the image, or "" if it is not known
	Logs    []string
	Metrics []string // of the pods
	Missing []string // what could not be read
}

var imageRelease = regexp.MustCompile(`:v?(\d+\.\d+\.\d+)(?:[-@]|$)`)

// logBytes is the most that is read of a log.
const logBytes = 64 << 20

// FindOperator reads the release, the metrics and, unless since is 0, the logs of the operator. It asks for the Deployments of all
// namespaces, and if they may not be listed for Deployments of the namespace keda.
func FindOperator(ctx context.Context, c *Client, since time.Duration) (o Operator) {
	type deployment struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Replicas *int
			Template struct {
				Spec struct{ Containers []struct{ Image string } }
			}
		}
	}
	const selector = "app=keda-operator"
	all, err := List[deployment](ctx, c, "/apis/apps/v1/deployments", "labelSelector", selector)
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("Deployments of all namespaces: %v; the namespace keda is tried", err))
		all, err = List[deployment](ctx, c, "/apis/apps/v1/namespaces/keda/deployments", "labelSelector", selector)
	}
	switch {
	case err != nil:
		instead := "--log"
		if since == 0 {
			instead = "--queue"
		}
		o.Missing = append(o.Missing, fmt.Sprintf("the operator's Deployment: %v; use --release and %s", err, instead))
		return o
	case len(all) == 0:
		o.Missing = append(o.Missing, "no Deployment has the label app=keda-operator: KEDA's operator does not run in this cluster, or has other labels")
		return o
	}
	d := all[0]
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		o.Missing = append(o.Missing, fmt.Sprintf("the Deployment %s/%s has 0 replicas: nothing is polled", d.Metadata.Namespace, d.Metadata.Name))
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		if m := imageRelease.FindStringSubmatch(container.Image); m != nil && o.Release == "" {
			o.Release = m[1]
		}
	}
	pods, err := List[struct{ Metadata struct{ Name string } }](ctx, c, "/api/v1/namespaces/"+d.Metadata.Namespace+"/pods", "labelSelector", selector)
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("the operator's pods: %v", err))
	}
	for _, p := range pods {
		o.pod(ctx, c, "/api/v1/namespaces/"+d.Metadata.Namespace+"/pods/", p.Metadata.Name, since)
	}
	return o
}

// pod reads the metrics and the log of a pod.
func (o *Operator) pod(ctx context.Context, c *Client, path, name string, since time.Duration) {
	data, err := c.Read(ctx, path+name+":8080/proxy/metrics")
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("the metrics of %s: %v", name, err))
	} else {
		o.Metrics = append(o.Metrics, string(data))
	}
	if since == 0 {
		return
	}
	data, err = c.Read(ctx, path+name+"/log", "sinceSeconds", strconv.Itoa(max(1, int(since.Seconds()))), "limitBytes", strconv.Itoa(logBytes))
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("the log of %s: %v", name, err))
		return
	}
	o.Logs = append(o.Logs, strings.ToValidUTF8(string(data), "?"))
}
