// Package cluster is what the example controllers need of a cluster before they have
// anything to do with Jobs: the way to it, custom resources that it serves, an informer
// of them, and the length of what is told there.
package cluster

import (
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// An Access is how a program gets to a cluster.
type Access struct {
	Program    string // what it is called in requests
	Kubeconfig string // a file; "" is what kubectl would take, and a pod's own access after that
	Guide      string // how to get a cluster, for whoever has none; "" says nothing about that
}

// Config finds the cluster. Nothing is asked of it yet, and nothing bounds the rate of
// requests later: the controllers bound what is under way at once, and the API server
// does the rest.
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

// Guide says how to run one of the examples, such as ./examples/controller, on a
// cluster of one's own.
func Guide(example string) string {
	return fmt.Sprintf(`To have one on this machine, with nothing but Go installed, run in the folder of this repository

    make cluster                            # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/kubeconfig
    go run %s -install`, example)
}

// Clients are a client of what Kubernetes has, and one of custom resources.
func Clients(config *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	custom, err := dynamic.NewForConfig(config)
	return client, custom, err
}
