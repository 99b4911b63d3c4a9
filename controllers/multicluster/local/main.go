// Local brings up a home cluster and members on this machine, with nothing but Go
// installed: real API servers and job controllers, and a stand-in for the kubelet. It
// registers the members, writes kubeconfigs, and stops all of it on Ctrl-C.
//
//	go run ./controllers/multicluster/local -work 1m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	controllers "github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/multicluster/manifests"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

type options struct {
	dir     string
	members int
	pods    cluster.Run
	stuck   string
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "fleet", "`directory` to write the kubeconfigs to, which is removed at the end")
	flag.IntVar(&o.members, "members", 3, "how many members, called member-1 and so on")
	flag.DurationVar(&o.pods.Start, "start", time.Second, "`time` from a pod's creation until it runs")
	flag.DurationVar(&o.pods.Work, "work", 30*time.Second, "`time` from then until the pod ends; below 0, it never does")
	flag.StringVar(&o.stuck, "stuck", "", "`member` on which pods never start")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (o *options) check(arguments []string) error {
	names := []string{""}
	for i := range o.members {
		names = append(names, member(i+1))
	}
	switch {
	case len(arguments) > 0:
		return fmt.Errorf("unexpected argument %q", arguments[0])
	case o.members < 1:
		return fmt.Errorf("-members %d: want 1 or more", o.members)
	case !slices.Contains(names, o.stuck):
		return fmt.Errorf("-stuck %s: want one of %s", o.stuck, strings.Join(names[1:], ", "))
	}
	return nil
}

func member(i int) string { return fmt.Sprintf("member-%d", i) }

// A site is a cluster with its name.
type site struct {
	name string
	*cluster.Cluster
}

// run returns when the context ends.
func run(ctx context.Context, o options) (err error) {
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return fmt.Errorf("%w: name another with -dir", err) // it may be somebody's access to other clusters
	}
	defer os.RemoveAll(o.dir)
	var sites []site
	defer func() {
		fmt.Println("stopping")
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	for i := range o.members + 1 {
		name := "home"
		if i > 0 {
			name = member(i)
		}
		fmt.Println("starting", name)
		c, err := cluster.New(ctx, os.Stdout, cluster.WithControllers("deployment-controller", "replicaset-controller"))
		if err != nil {
			return err
		}
		sites = append(sites, site{name, c})
		if err := o.kubeconfig(sites[i]); err != nil {
			return err
		}
	}
	if err := connect(ctx, sites[0], sites[1:]); err != nil {
		return err
	}
	o.tell()
	return o.runPods(ctx, sites[1:])
}

func (o *options) path(name string) string { return filepath.Join(o.dir, name+".kubeconfig") }

func (o *options) kubeconfig(s site) error {
	data, err := os.ReadFile(s.Kubeconfig())
	if err != nil {
		return err
	}
	return os.WriteFile(o.path(s.name), data, 0o600)
}

// connect installs the custom resources in the home cluster, and registers the members.
func connect(ctx context.Context, at site, members []site) error {
	clients, err := controllers.Connect(at.Config(), controllers.Limits{})
	if err != nil {
		return err
	}
	if err := controllers.Install(ctx, clients.Dynamic, manifests.CRDs, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if _, err := clients.Requests.CoreV1().Namespaces().Apply(ctx, core.Namespace(registry.Namespace), metav1.ApplyOptions{FieldManager: "local"}); err != nil {
		return err
	}
	home := registry.Registry{Client: clients.Requests, Namespace: registry.Namespace}
	for _, m := range members {
		kubeconfig, uid, err := registry.Setup(ctx, registry.NewMember{Name: m.name, Admin: m.Config()})
		if err != nil {
			return err
		}
		if err := home.Add(ctx, m.name, kubeconfig, registry.Registration{UID: uid}); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) tell() {
	home := o.path("home")
	if path, err := filepath.Abs(home); err == nil {
		home = path
	}
	fmt.Print(strings.NewReplacer("HOME", home, "DIR", o.dir).Replace(`
ready. In another terminal:

    export KUBECONFIG=HOME
    go run ./controllers/multicluster list-members
    DSJ_ENABLED=true DSO_ENABLED=true go run ./controllers/multicluster

and in a third:

    export KUBECONFIG=HOME
    kubectl apply -f controllers/multicluster/manifests/sample.yaml
    kubectl get distributedscaledjob -w
    kubectl --kubeconfig DIR/member-1.kubeconfig get jobs

`))
}

// runPods runs the pods of all members until the context ends.
func (o *options) runPods(ctx context.Context, members []site) error {
	var group sync.WaitGroup
	problems := make([]error, len(members))
	for i, m := range members {
		pods := o.pods
		if m.name == o.stuck {
			pods.Start = -1
		}
		group.Go(func() { problems[i] = m.RunPods(ctx, func(*corev1.Pod) cluster.Run { return pods }) })
	}
	group.Wait()
	return errors.Join(problems...)
}
