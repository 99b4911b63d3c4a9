// Run starts a Kubernetes control plane with a stand-in for the kubelet, for
// trying things out, and stops it on Ctrl-C:
//
//	go run ./test/e2e/cluster/run -work 1m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "kubeconfig", "`path` of the kubeconfig to write, and to remove at the end")
	start := flag.Duration("start", time.Second, "`time` from a pod's creation until it runs; below 0, it never does")
	work := flag.Duration("work", 30*time.Second, "`time` from then until the pod ends; below 0, it never does")
	exit := flag.Int("exit", 0, "exit `code` of pods: other than 0, they fail")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pods := cluster.Run{Start: *start, Work: *work, Exit: int32(*exit)}
	if err := run(ctx, *kubeconfig, pods); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run returns when the context ends.
func run(ctx context.Context, kubeconfig string, pods cluster.Run) (err error) {
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return err
	}
	file, err := create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer file.Close()
	c, err := cluster.New(ctx, os.Stdout, cluster.WithControllers("deployment-controller", "replicaset-controller"))
	if err != nil {
		return err
	}
	defer func() {
		fmt.Println("stopping")
		err = errors.Join(err, c.Close())
	}()
	data, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	tell(path, pods)
	return c.RunPods(ctx, func(*corev1.Pod) cluster.Run { return pods })
}

// create does not change an existing file, which may be the access to another cluster.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already: remove it, or name another with -kubeconfig", path)
	}
	return file, err
}

func tell(path string, pods cluster.Run) {
	fmt.Printf(`
There are no nodes and no scheduler: pods %s. Images are never pulled. In another terminal:

    export KUBECONFIG=%s
    kubectl create job hello --image=any
    kubectl get jobs,pods --watch

Ctrl-C stops the cluster and removes it.
`, fate(pods), path)
}

func fate(pods cluster.Run) string {
	switch {
	case pods.Start < 0:
		return "stay pending"
	case pods.Work < 0:
		return fmt.Sprintf("run after %v and never end", pods.Start)
	}
	return fmt.Sprintf("run after %v, and end %v later with exit code %d", pods.Start, pods.Work, pods.Exit)
}
