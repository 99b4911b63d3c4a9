// Autoscaler sets the replicas of a workload with a scale subresource as a
// HorizontalPodAutoscaler does, for a number that this program reads itself: here the items
// in a ConfigMap, 5 for each replica.
//
//	go run ./examples/autoscaler -namespace default -deployment web -configmap queue
package main

import (
	"context"
	"flag"
	"log"
	"strconv"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/horizontal"
)

// An autoscaler is a workload, its metric, and what it remembers.
type autoscaler struct {
	client                           kubernetes.Interface
	namespace, deployment, configmap string
	policy                           horizontal.Policy
	state                            horizontal.State
}

// step decides once, and writes the replicas if they change.
func (a *autoscaler) step(ctx context.Context, now time.Time) (horizontal.Decision, error) {
	metric := horizontal.Metric{Name: a.configmap, Target: horizontal.AverageValue, Amount: 5_000}
	if m, err := a.client.CoreV1().ConfigMaps(a.namespace).Get(ctx, a.configmap, metav1.GetOptions{}); err != nil {
		metric.Unreadable = err.Error()
	} else if items, err := strconv.ParseInt(m.Data["items"], 10, 32); err != nil {
		metric.Unreadable = err.Error()
	} else {
		metric.Values = []int64{items * 1000}
	}
	deployments := a.client.AppsV1().Deployments(a.namespace)
	scale, err := deployments.GetScale(ctx, a.deployment, metav1.GetOptions{})
	if err != nil {
		return horizontal.Decision{}, err
	}
	d := horizontal.Decide(a.policy, a.state, horizontal.Observation{
		Now: now, Replicas: scale.Spec.Replicas, StatusReplicas: scale.Status.Replicas, Metrics: []horizontal.Metric{metric},
	})
	a.state.Record(a.policy, d)
	if d.Replicas == d.Current {
		return d, nil
	}
	// With the resourceVersion of the scale, so that no other change is overwritten.
	next := &autoscalingv1.Scale{ObjectMeta: scale.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: d.Replicas}}
	if _, err = deployments.UpdateScale(ctx, a.deployment, next, metav1.UpdateOptions{}); err == nil {
		a.state.Wrote(a.policy, d)
	}
	return d, err
}

func main() {
	a := autoscaler{policy: horizontal.DefaultPolicy(20)}
	flag.StringVar(&a.namespace, "namespace", "default", "`namespace`")
	flag.StringVar(&a.deployment, "deployment", "web", "`name` of the Deployment")
	flag.StringVar(&a.configmap, "configmap", "queue", "`name` of the ConfigMap with the number of items")
	flag.Parse()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	clients, err := client.Connect(config, 5*time.Second, nil)
	if err != nil {
		log.Fatal(err)
	}
	for a.client = clients.Requests; ; time.Sleep(15 * time.Second) {
		d, err := a.step(context.Background(), time.Now())
		log.Println(d, err)
	}
}
