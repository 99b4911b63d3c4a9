package main

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/examples/multicluster/api"
)

const noCluster = `there is no home cluster to work on: %w.

To have one with three members on this machine, with nothing but Go installed, run in the folder of this repository

    go run ./examples/multicluster/local    # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/fleet/home.kubeconfig
    DSJ_ENABLED=true DSO_ENABLED=true go run ./examples/multicluster

To use another cluster, set KUBECONFIG or -kubeconfig`

// connect finds the home cluster as kubectl does, and a pod's own after that.
func connect(kubeconfig string) (*rest.Config, error) {
	config, err := load(kubeconfig)
	if err != nil && (clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster)) {
		return nil, fmt.Errorf(noCluster, err)
	}
	return config, err
}

func load(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the API server bounds what it serves at once
	return rest.AddUserAgent(config, name), nil
}

// served is an error where the home cluster does not know what is to be acted on: a
// watch of it would be tried for ever.
func (o options) served(client discovery.DiscoveryInterface) error {
	known, err := client.ServerResourcesForGroupVersion(api.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	there := map[string]bool{}
	if known != nil {
		for _, r := range known.APIResources {
			there[r.Name] = true
		}
	}
	var problems []error
	for _, r := range o.resources() {
		if !there[r.Resource] {
			problems = append(problems, fmt.Errorf("the home cluster has no %s: install the custom resources with -install, or from manifests/crds", r.Resource))
		}
	}
	return errors.Join(problems...)
}

// resources are what to act on.
func (o options) resources() (all []schema.GroupVersionResource) {
	if o.jobs {
		all = append(all, api.Jobs)
	}
	if o.objects {
		all = append(all, api.Objects)
	}
	return all
}
