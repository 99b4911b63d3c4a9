// Package manifests holds the custom resources, to install them from a program.
package manifests

import (
	"context"
	"embed"
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
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var files embed.FS

// Install creates the custom resources that the cluster does not have, and returns
// when it serves them. It changes none that are there: somebody else may have
// installed them.
func Install(ctx context.Context, client dynamic.Interface, log *slog.Logger) error {
	all, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range all {
		if err := install(ctx, client, file, log); err != nil {
			return fmt.Errorf("install %s: %w", path.Base(file), err)
		}
	}
	return nil
}

func install(ctx context.Context, client dynamic.Interface, file string, log *slog.Logger) error {
	data, err := files.ReadFile(file)
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
