// Install writes the install manifest of each controller: its custom resources, its rights in
// all namespaces, and a Deployment with the image of a release.
//
//	cd controllers && go run ./internal/install v0.1.0 ../dist
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizations are the directories of the controllers, from the root of their module.
var kustomizations = map[string]string{
	"scaledjob-controller": "scaledjob-controller/manifests/install",
	"multicluster":         "multicluster/manifests/cluster",
	"scheduled":            "scheduled/manifests/cluster",
	"redis-operator":       "redis-operator/config/cluster",
}

var (
	released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[\w.]+)?$`)
	image    = regexp.MustCompile(`( image: )([\w-]+):v[\w.-]+`)
)

func main() {
	if len(os.Args) != 3 || !released.MatchString(os.Args[1]) {
		fmt.Fprintln(os.Stderr, "install: use a version such as v0.1.0, and a directory")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

// write writes a file for each controller into the directory.
func write(version, directory string) error {
	for name, kustomization := range kustomizations {
		objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), kustomization)
		if err != nil {
			return err
		}
		text, err := objects.AsYaml()
		if err != nil {
			return err
		}
		text = image.ReplaceAll(text, []byte("${1}ghcr.io/scaledjob/${2}:"+version))
		if err := os.WriteFile(filepath.Join(directory, name+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
