package cluster

import (
	"cmp"
	"context"
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
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// installable are the kinds that Install knows.
var installable = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition": definitions,
	"FlowSchema":               {Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"},
}

// Install creates the objects in the files, an object in each, that the cluster does not
// have: FlowSchemas, and custom resources, which it waits for until the cluster has accepted
// them. It changes no existing object, because it may belong to another program.
func Install(ctx context.Context, client dynamic.Interface, files fs.FS, log *slog.Logger) error {
	return fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, file)
		if err == nil {
			err = install(ctx, client, data, log)
		}
		if err != nil {
			return fmt.Errorf("install %s: %w", path.Base(file), err)
		}
		return nil
	})
}

func install(ctx context.Context, client dynamic.Interface, data []byte, log *slog.Logger) error {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	resource, found := installable[u.GetKind()]
	if !found {
		return fmt.Errorf("kind: found %q; use CustomResourceDefinition or FlowSchema", u.GetKind())
	}
	objects := client.Resource(resource)
	switch _, err := objects.Create(ctx, u, metav1.CreateOptions{}); {
	case apierrors.IsAlreadyExists(err):
		log.Info("left alone: it is installed already", "resource", u.GetName())
		return nil
	case err != nil:
		return err
	}
	log.Info("installed", "resource", u.GetName())
	if resource != definitions {
		return nil
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := objects.Get(ctx, u.GetName(), metav1.GetOptions{})
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

// Served returns an error if the cluster lacks a custom resource, because a watch of it
// would be tried for ever. It waits while the API server is overloaded, and 5 s for new resources,
// which the API server serves somewhat later than it has accepted them.
func Served(ctx context.Context, client discovery.DiscoveryInterface, resources ...schema.GroupVersionResource) error {
	var lacks error
	var overloaded bool
	var answered time.Time
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		var err error
		if lacks, err = missing(client, resources); apierrors.IsTooManyRequests(err) {
			if !overloaded {
				klog.ErrorS(err, "The API server is overloaded; waiting for it")
			}
			overloaded = true
			return false, nil
		}
		if answered.IsZero() {
			answered = time.Now()
		}
		return lacks == nil || time.Since(answered) > 5*time.Second, err
	})
	return cmp.Or(lacks, err)
}

// missing lists the resources that the cluster lacks, or returns err if that is unknown.
func missing(client discovery.DiscoveryInterface, resources []schema.GroupVersionResource) (lacks, err error) {
	var problems []error
	for _, r := range resources {
		served, err := discovery.IsResourceEnabled(client, r)
		if err != nil {
			return nil, err
		}
		if !served {
			problems = append(problems, fmt.Errorf("the cluster has no %s: install the custom resources with -install, or from manifests/crds", r.GroupResource()))
		}
	}
	return errors.Join(problems...), nil
}
