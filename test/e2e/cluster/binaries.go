package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A binary is built in a module of the directory binaries, which requires its version.
type binary struct{ name, module, path, version string }

// selected returns the binaries of the release of Kubernetes in test/e2e/binaries, or of the older release
// that SCALEDJOB_KUBERNETES names, such as 1.31.
func selected() ([]binary, error) {
	kubernetes, older := "kubernetes", os.Getenv("SCALEDJOB_KUBERNETES")
	if older != "" {
		kubernetes += "-" + older
	}
	binaries := []binary{
		{name: "etcd", module: "etcd", path: "go.etcd.io/etcd/server/v3"},
		{name: "kube-apiserver", module: kubernetes, path: "k8s.io/kubernetes/cmd/kube-apiserver"},
		{name: "kube-controller-manager", module: kubernetes, path: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	}
	for i := range binaries {
		b := &binaries[i]
		file, err := os.ReadFile(filepath.Join(b.folder(), "go.mod"))
		switch version := required.FindSubmatch(file); {
		case os.IsNotExist(err):
			return nil, fmt.Errorf("SCALEDJOB_KUBERNETES: found %q; use a release that test/e2e/binaries has, or nothing", older)
		case err != nil:
			return nil, err
		case version == nil:
			return nil, fmt.Errorf("%s/go.mod: found no requirement on a line of its own", b.folder())
		default:
			b.version = string(version[1])
		}
	}
	return binaries, nil
}

var required = regexp.MustCompile(`(?m)^require \S+ v(\S+)$`)

// folder returns the folder of the binary's module.
func (b binary) folder() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "binaries", b.module)
}

// build returns the directory with the binaries, and builds missing binaries. It writes its
// progress to out.
func build(ctx context.Context, out io.Writer, binaries []binary) (string, error) {
	folder, err := cacheFolder(binaries)
	if err != nil || built(folder, binaries) {
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
		fmt.Fprintf(out, "building %s (%d of %d)\n", b.name, i+1, len(binaries))
		if err := b.build(ctx, out, folder); err != nil {
			return "", fmt.Errorf("build %s: %w", b.name, err)
		}
	}
	return folder, nil
}

func built(folder string, binaries []binary) bool {
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

func cacheFolder(binaries []binary) (string, error) {
	folder := os.Getenv("SCALEDJOB_E2E_BINARIES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(cache, "scaledjob-e2e")
	}
	folder = filepath.Join(folder, fmt.Sprintf("kubernetes-%s-etcd-%s", binaries[1].version, binaries[0].version))
	return folder, os.MkdirAll(folder, 0o755)
}

// lock waits until no other process builds into the folder.
func lock(ctx context.Context, out io.Writer, folder string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for waits := false; !tryLock(f); waits = true {
		if !waits {
			fmt.Fprintln(out, "waiting for another process that builds the same")
		}
		if !sleep(ctx, 100*time.Millisecond) {
			f.Close()
			return nil, context.Cause(ctx)
		}
	}
	return func() { f.Close() }, nil
}

// build builds under another name first, so that a half binary is never used.
func (b binary) build(ctx context.Context, out io.Writer, folder string) error {
	temp, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	// kube-apiserver reports its version; without it clients cannot parse the answer.
	number := strings.SplitN(b.version, ".", 3)
	const set = " -X k8s.io/component-base/version."
	flags := "-s -w" + set + "gitVersion=v" + b.version + set + "gitMajor=" + number[0] + set + "gitMinor=" + number[1]
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags="+flags, "-o", filepath.Join(temp, b.name), b.path)
	cmd.Dir = b.folder()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(temp, b.name), filepath.Join(folder, b.name))
}
