package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Versions of what is built, as in the go.mod files of the binaries folder.
const (
	kubernetesVersion = "1.36.3"
	etcdVersion       = "3.6.8"
)

// version is what kube-apiserver tells clients; without it they cannot parse it.
const version = "-X k8s.io/component-base/version.gitVersion=v" + kubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"

// binaries are built each in the module of its folder.
var binaries = []struct{ name, module, path string }{
	{"etcd", "etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"},
}

// build returns the folder with the binaries, and makes those that it lacks. It
// tells out what it does.
func build(ctx context.Context, out io.Writer) (string, error) {
	folder, err := cacheFolder()
	if err != nil {
		return "", err
	}
	for _, b := range binaries {
		if _, err := os.Stat(filepath.Join(folder, b.name)); err == nil {
			continue
		}
		fmt.Fprintf(out, "building %s into %s: minutes the first time\n", b.name, folder)
		if err := buildOne(ctx, out, folder, b.name, b.module, b.path); err != nil {
			return "", fmt.Errorf("build %s: %w", b.name, err)
		}
	}
	return folder, nil
}

func cacheFolder() (string, error) {
	folder := os.Getenv("SCALEDJOB_E2E_BINARIES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(cache, "scaledjob-e2e", "kubernetes-"+kubernetesVersion+"-etcd-"+etcdVersion)
	}
	return folder, os.MkdirAll(folder, 0o755)
}

// buildOne builds under another name first: two that build at once do work
// twice, but never see half a binary.
func buildOne(ctx context.Context, out io.Writer, folder, name, module, path string) error {
	temp, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	_, here, _, _ := runtime.Caller(0)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w "+version, "-o", filepath.Join(temp, name), path)
	cmd.Dir = filepath.Join(filepath.Dir(here), "..", "binaries", module)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(temp, name), filepath.Join(folder, name))
}
