// Dispatcher runs the jobs of a CI queue: a Job for each, with an image and a script of its own,
// and no CI job twice. The queue is a URL that returns the jobs to run as JSON, the first one
// first; a ConfigMap owns the Jobs.
//
//	kubectl create configmap ci
//	go run ./examples/dispatcher -queue https://ci.example.com/jobs -max 20
//
// A CI job leaves the list when its result is known. One that fails and stays listed runs
// again when the queue raises its attempt.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/adapter/term/kube"
	"github.com/scaledjob/scaledjob/history"
)

// A job is a job of the CI.
type job struct {
	ID            string
	Attempt       int64
	Image, Script string
}

// item returns the Job of a CI job. Its Pod needs no permission.
func (j job) item() adapter.Item {
	is := &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{BackoffLimit: new(int32)}}
	is.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	is.Spec.Template.Spec.Containers = []corev1.Container{{Name: "ci", Image: j.Image, Command: []string{"sh", "-ec", j.Script}}}
	return adapter.Item{Key: j.ID, Attempt: j.Attempt, Template: is}
}

// run dispatches every five seconds, until the lease or the program ends.
func run(ctx context.Context, clients client.Clients, terms *term.Holder, owner *corev1.ConfigMap, most int64, keep time.Duration, list func() ([]job, error)) {
	tracker := must(adapter.NewTracker(clients.Watches, adapter.Options{Terms: terms, Namespace: owner.Namespace}))
	t := adapter.Target{Owner: adapter.OwnerOf(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap")), Keyed: true}
	t.Job = &batchv1.Job{Spec: job{}.item().Template.Spec} // each item has its own
	t.Policy.Bounds.Max, t.History.Age = most, history.After(keep)
	must(0, tracker.Track(t))
	go tracker.Run(ctx)
	polls := loop.New(loop.Options{Tracker: tracker, Client: clients.Requests, Requests: clients.Queue})
	polls.Now(cache.MetaObjectToName(owner))
	polls.Run(ctx, loop.Items(polls, func(ctx context.Context, key cache.ObjectName) (*corev1.ConfigMap, error) {
		return clients.Requests.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	}, func(context.Context, *corev1.ConfigMap) (items []adapter.Item, revision int64, err error) {
		jobs, err := list()
		for _, j := range jobs {
			items = append(items, j.item())
		}
		return items, 0, err
	}, func(plan adapter.Plan, result adapter.Result, err error) time.Duration {
		log.Print("created ", result.Created, ", deleted ", result.Pruned, ", held ", plan.Holds, ", error ", err)
		return 5 * time.Second
	}))
}

// get reads the queue. A list that is not complete is an error.
func get(url string) (jobs []job, err error) {
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, 16<<20))
	if err = errors.Join(err, json.Unmarshal(text, &jobs)); err != nil || jobs == nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the queue: found %s, error %v; a list without jobs is []", answer.Status, err)
	}
	return jobs, nil
}

func main() {
	queue, most := flag.String("queue", "", "`URL` of the jobs"), flag.Int64("max", 10, "greatest `number` of unfinished Jobs")
	keep := flag.Duration("keep", time.Hour, "`age` at which a finished Job is deleted")
	namespace, name := flag.String("namespace", "default", "`namespace` of the Jobs"), flag.String("owner", "ci", "`name` of the ConfigMap")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config := must(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig())
	clients := must(client.Connect(config, 0, client.NewLimit(64)))
	owner := must(clients.Requests.CoreV1().ConfigMaps(*namespace).Get(ctx, *name, metav1.GetOptions{}))
	lease := must(kube.Connect(config, *namespace, "dispatcher-"+*name, 0))
	must(0, lease.Keep(ctx, func(ctx context.Context) error {
		run(ctx, clients, lease.Holder, owner, *most, *keep, func() ([]job, error) { return get(*queue) })
		return nil
	}))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
