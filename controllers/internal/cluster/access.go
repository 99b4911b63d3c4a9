// Package cluster connects the example controllers to a cluster: access, custom resources
// that it serves, an informer of them, and the length of messages.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter/loop"
)

// An Access is how a program gets to a cluster.
type Access struct {
	Program    string // name in requests
	Kubeconfig string // file; "" is kubectl's default, or else a pod's own access
	Guide      string // how to get a cluster, for users without any; "" prints nothing
}

// ErrNone is the error of an [Access] that names no cluster.
var ErrNone = errors.New("there is no cluster to work on")

// Config returns the access to the cluster. It sends no request. It sets no rate limit: the
// controllers bound the requests in flight, and the API server does the rest.
func (a Access) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	hasNoCluster := clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster)
	if hasNoCluster && a.Guide != "" {
		return nil, fmt.Errorf("%w: %w.\n\n%s\n\nTo use another cluster, set KUBECONFIG or -kubeconfig", ErrNone, err, a.Guide)
	}
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return rest.AddUserAgent(config, a.Program), nil
}

// Guide returns the text on how to run an example, such as ./controllers/scaledjob-controller, on a local
// cluster.
func Guide(example string) string {
	return fmt.Sprintf(`To have one on this machine, with nothing but Go installed, run in the folder of this repository

    make cluster                            # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/kubeconfig
    go run %s -install`, example)
}

// Limits bound the requests to an API server, without watches. The zero value has the defaults.
type Limits struct {
	Timeout  time.Duration // of a request; 0 means 15 s
	InFlight int           // requests at once; 0 means 64
}

// Clients are clients of Kubernetes' own resources and of custom resources. Watches are for
// informers, and have neither timeout nor limit: the list of all objects may take longer than a
// request, and takes no place among the requests.
type Clients struct {
	loop.Clients
	Dynamic        dynamic.Interface
	DynamicWatches dynamic.Interface
	Limit          *loop.Limit // of Requests and Dynamic
}

// Connect returns the clients.
func Connect(config *rest.Config, limits Limits) (c Clients, err error) {
	c.Limit = loop.NewLimit(cmp.Or(limits.InFlight, 64))
	var problems [3]error
	c.Clients, problems[0] = loop.Connect(config, limits.Timeout, c.Limit)
	c.Dynamic, problems[1] = dynamic.NewForConfig(loop.LimitedConfig(config, limits.Timeout, c.Limit))
	c.DynamicWatches, problems[2] = dynamic.NewForConfig(config)
	return c, errors.Join(problems[:]...)
}
