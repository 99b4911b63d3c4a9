package cluster

import (
	"context"
	"fmt"
	"regexp"
	"slices"
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
	pods    []string // their paths
}

var imageRelease = regexp.MustCompile(`:v?(\d+\.\d+\.\d+)(?:[-@]|$)`)

// logBytes is the most that is read of a log.
const logBytes = 64 << 20

// FindOperator reads the release and the metrics of the operator. It asks for the Deployments of all
// namespaces, and if they may not be listed for Deployments of the namespace keda. The flags, which the
// caller's user has not given, give what it does not find.
func FindOperator(ctx context.Context, c *Client, flags ...string) (o Operator) {
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
	deployments, err := List[deployment](ctx, c, "/apis/apps/v1/deployments", "labelSelector", selector)
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("Deployments of all namespaces: %v; the namespace keda is tried", err))
		deployments, err = List[deployment](ctx, c, "/apis/apps/v1/namespaces/keda/deployments", "labelSelector", selector)
	}
	switch {
	case err != nil:
		o.Missing = append(o.Missing, fmt.Sprintf("the operator's Deployment: %v; use %s", err, strings.Join(flags, " and ")))
		return o
	case len(deployments) == 0:
		o.Missing = append(o.Missing, "no Deployment has the label app=keda-operator: KEDA's operator does not run in this cluster, or has other labels")
		return o
	}
	d := deployments[0]
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		o.Missing = append(o.Missing, fmt.Sprintf("the Deployment %s/%s has 0 replicas: nothing is polled", d.Metadata.Namespace, d.Metadata.Name))
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		if m := imageRelease.FindStringSubmatch(container.Image); m != nil && o.Release == "" {
			o.Release = m[1]
		}
	}
	if o.Release == "" && slices.Contains(flags, "--release") {
		o.Missing = append(o.Missing, "the operator's release: its image has no tag such as 2.21.0; use --release")
	}
	pods, err := List[struct{ Metadata struct{ Name string } }](ctx, c, "/api/v1/namespaces/"+d.Metadata.Namespace+"/pods", "labelSelector", selector)
	if err != nil {
		o.Missing = append(o.Missing, fmt.Sprintf("the operator's pods: %v", err))
	}
	for _, p := range pods {
		path := "/api/v1/namespaces/" + d.Metadata.Namespace + "/pods/" + p.Metadata.Name
		o.pods = append(o.pods, path)
		data, err := c.Read(ctx, path+":8080/proxy/metrics")
		if err != nil {
			o.Missing = append(o.Missing, fmt.Sprintf("the metrics of %s: %v", p.Metadata.Name, err))
			continue
		}
		o.Metrics = append(o.Metrics, string(data))
	}
	return o
}

// ReadLogs reads the pods' logs of the last time, once.
func (o *Operator) ReadLogs(ctx context.Context, c *Client, span time.Duration) {
	for _, path := range o.pods {
		data, err := c.Read(ctx, path+"/log", "sinceSeconds", strconv.Itoa(max(1, int(span.Seconds()))), "limitBytes", strconv.Itoa(logBytes))
		if err != nil {
			o.Missing = append(o.Missing, fmt.Sprintf("the log of %s: %v", path[strings.LastIndexByte(path, '/')+1:], err))
			continue
		}
		o.Logs = append(o.Logs, strings.ToValidUTF8(string(data), "?"))
	}
	o.pods = nil
}
