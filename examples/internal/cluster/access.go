// Package cluster connects the example controllers to a cluster: access, custom resources
// that it serves, an informer of them, and the length of messages.
package cluster

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter/client"
)

// An Access is how a program gets to a cluster.
type Access struct {
	Program    string // name in requests
	Kubeconfig string // file; "" is kubectl's default, or else a pod's own access
	Guide      string // how to get a cluster, for users without any; "" prints nothing
}

// Config returns the access to the cluster. It sends no request. It sets no rate limit: the
// controllers bound the requests in flight, and the API server does the rest.
func (a Access) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil && a.Guide != "" && (clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster)) {
		return nil, fmt.Errorf("there is no cluster to work on: %w.\n\n%s\n\nTo use another cluster, set KUBECONFIG or -kubeconfig", err, a.Guide)
	}
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return rest.AddUserAgent(config, a.Program), nil
}

// Guide returns the text on how to run an example, such as ./examples/controller, on a local
// cluster.
func Guide(example string) string {
	return fmt.Sprintf(`To have one on this machine, with nothing but Go installed, run in the folder of this repository

    make cluster                            # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/kubeconfig
    go run %s -install`, example)
}

// maxInFlight is the greatest number of requests in flight, without watches.
const maxInFlight = 64

// Clients returns a client of Kubernetes' own resources, and a client of custom resources,
// with a common limit. Each request has the timeout; 0 means 15 s. Informers need [Watches].
func Clients(config *rest.Config, timeout time.Duration) (kubernetes.Interface, dynamic.Interface, error) {
	config = client.Limited(config, timeout, client.NewLimit(maxInFlight))
	own, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	custom, err := dynamic.NewForConfig(config)
	return own, custom, err
}

// Watches returns the same clients for informers, with neither timeout nor limit. The list
// of all objects may take longer than a request, and takes no place among the requests.
func Watches(config *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	own, err := client.Connect(config, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	custom, err := dynamic.NewForConfig(config)
	return own.Watches, custom, err
}
