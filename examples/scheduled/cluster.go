package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/run"
)

var (
	scheduledJobs = run.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = run.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

const noCluster = `there is no cluster to work on: %w.

To have one on this machine, with nothing but Go installed, run in the folder of this repository

    make cluster                            # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/kubeconfig
    go run ./examples/scheduled -install

To use another cluster, set KUBECONFIG or -kubeconfig`

// connect finds the cluster as kubectl does, and a pod's own after that.
func connect(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil && (clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster)) {
		return nil, fmt.Errorf(noCluster, err)
	}
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the workers bound what is under way at once, and the API server does the rest
	return rest.AddUserAgent(config, name), nil
}

//go:embed manifests/crds/*.yaml
var manifests embed.FS

// install creates the custom resources that the cluster does not have, and changes
// none that it has.
func install(ctx context.Context, client dynamic.Interface, log *slog.Logger) error {
	files, err := fs.Glob(manifests, "manifests/crds/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := installFile(ctx, client, file, log); err != nil {
			return fmt.Errorf("install %s: %w", path.Base(file), err)
		}
	}
	return nil
}

func installFile(ctx context.Context, client dynamic.Interface, file string, log *slog.Logger) error {
	data, err := manifests.ReadFile(file)
	if err != nil {
		return err
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &crd.Object); err != nil {
		return err
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	switch _, err := crds.Create(ctx, crd, metav1.CreateOptions{}); {
	case apierrors.IsAlreadyExists(err):
		log.Info("left alone: it is installed already", "resource", crd.GetName())
		return nil
	case err != nil:
		return err
	}
	log.Info("installed", "resource", crd.GetName())
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
		return err == nil && established(got), err
	})
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" {
			return c["status"] == "True"
		}
	}
	return false
}

// served is an error where the cluster lacks a custom resource: a watch of it would be
// tried for ever.
func served(client discovery.DiscoveryInterface) error {
	known, err := client.ServerResourcesForGroupVersion(scheduledJobs.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	there := map[string]bool{}
	if known != nil {
		for _, r := range known.APIResources {
			there[r.Name] = true
		}
	}
	if there[scheduledJobs.Resource] && there[runRequests.Resource] {
		return nil
	}
	return errors.New("the cluster has no ScheduledJobs and RunRequests: install the custom resources with -install, or from manifests/crds")
}
