package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Versions of the binaries, as in the go.mod files of the binaries directory.
const (
	kubernetesVersion = "1.36.3"
	etcdVersion       = "3.6.8"
)

// version is the version that kube-apiserver reports; without it clients cannot parse it.
const version = "-X k8s.io/component-base/version.gitVersion=v" + kubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"

// tellEvery is the interval of messages during a long wait.
const tellEvery = 30 * time.Second

// A binary is built in the module of its folder.
type binary struct{ name, module, path string }

var binaries = []binary{
	{"etcd", "etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"},
}

// build returns the directory with the binaries, and builds missing binaries. It writes its
// progress to out.
func build(ctx context.Context, out io.Writer) (string, error) {
	folder, err := cacheFolder()
	if err != nil || built(folder) {
		return folder, err
	}
	unlock, err := lock(ctx, out, folder)
	if err != nil {
		return "", err
	}
	defer unlock()
	fmt.Fprintf(out, "building into %s: once, and about ten minutes on two cores\n", folder)
	for i, b := range binaries {
		if b.in(folder) {
			continue
		}
		name := fmt.Sprintf("building %s (%d of %d)", b.name, i+1, len(binaries))
		err := telling(out, name, tellEvery, func() error { return b.build(ctx, out, folder) })
		if err != nil {
			return "", fmt.Errorf("build %s: %w", b.name, err)
		}
	}
	return folder, nil
}

func built(folder string) bool {
	for _, b := range binaries {
		if !b.in(folder) {
			return false
		}
	}
	return true
}

func (b binary) in(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, b.name))
	return err == nil
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

// lock waits until no other process builds into the folder.
func lock(ctx context.Context, out io.Writer, folder string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	wait := func() error {
		for !tryLock(f) {
			if !sleep(ctx, 100*time.Millisecond) {
				return context.Cause(ctx)
			}
		}
		return nil
	}
	if err := telling(out, "waiting for another process that builds the same", tellEvery, wait); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// telling writes to out at intervals that do is still running.
func telling(out io.Writer, what string, every time.Duration, do func() error) error {
	done := make(chan error, 1)
	start, tick := time.Now(), time.NewTicker(every)
	defer tick.Stop()
	go func() { done <- do() }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			fmt.Fprintf(out, "still %s, for %v\n", what, time.Since(start).Round(time.Second))
		}
	}
}

// build builds under another name first, so that a half binary is never used.
func (b binary) build(ctx context.Context, out io.Writer, folder string) error {
	fmt.Fprintf(out, "building %s\n", b.name)
	temp, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	_, here, _, _ := runtime.Caller(0)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w "+version, "-o", filepath.Join(temp, b.name), b.path)
	cmd.Dir = filepath.Join(filepath.Dir(here), "..", "binaries", b.module)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(temp, b.name), filepath.Join(folder, b.name))
}
