package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

const (
	sameRounds = 3 // lengths of each queue
	samePolls  = 3 // of each length
)

// A decided is a poll as a log shows it.
type decided struct{ running, pending, created int64 }

// TestBesideSameJobs runs KEDA's operator, and then controllers/scaledjob-controller with -as-keda, with the same
// ScaledJobs on the same queues. The queues of a ScaledJob change after each third of its polls, and
// Jobs start and end between polls. Each poll creates as many Jobs under both.
func TestBesideSameJobs(t *testing.T) {
	if *besideFor == 0 {
		t.Skip("use -beside 20m")
	}
	redis := redisConn(t)
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run { return lifeOfOwner(p.Labels["job-name"]) })
	drawn := drawScaledJobs(*besideJobs, "10")
	text := strings.NewReplacer("backoffLimit: 1", "backoffLimit: 0",
		// KEDA reconciles again when it has set its finalizer, and that ends the first poll amid its creates:
		// some of them are made although the log says that they failed.
		", namespace: default}", ", namespace: default, finalizers: [finalizer.keda.sh]}").Replace(strings.Join(drawn, "---\n"))
	fill := fillers(t, drawn, redis)
	fillAll := func(name string, round int) {
		for k := range 3 {
			if set := fill[fmt.Sprint(name, "-", k)]; set != nil {
				h := fnv.New64a()
				fmt.Fprint(h, name, k, round)
				draw := rand.New(rand.NewPCG(h.Sum64(), 4))
				set(draw.IntN(20) * min(1, draw.IntN(4)))
			}
		}
	}
	run := func(namespace string, start func(), polls func() map[string][]decided) map[string][]decided {
		objects := manifest.Objects(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n---\n"+strings.ReplaceAll(text, "namespace: default", "namespace: "+namespace))
		rounds := map[string]int{}
		for _, o := range objects[1:] {
			fillAll(o.GetName(), 0)
		}
		start()
		manifest.Apply(t, c.Config(), objects...)
		var found map[string][]decided
		require.Eventually(t, func() bool {
			found = polls()
			done := 0
			for _, o := range objects[1:] {
				name := o.GetName()
				if n := len(found[name]) / samePolls; n > rounds[name] {
					rounds[name] = n
					fillAll(name, n)
				}
				done += rounds[name] / sameRounds
			}
			return done == len(drawn)
		}, 5*time.Minute, 500*time.Millisecond, "polls in "+namespace)
		return found
	}

	var o *operator.Operator
	t.Setenv("KEDA_SCALEDJOB_CTRL_MAX_RECONCILES", "20")
	theirs := run("theirs", func() { o = operator.Start(t, c, "--kube-api-qps=1000", "--kube-api-burst=1000") },
		func() map[string][]decided { return decidedByKEDA(o.Log(t)) })
	t.Setenv("WATCH_LABEL_SELECTOR", kedametrics.LabelReader) // KEDA has our ScaledObjects, and no ScaledJob
	o.Restart(t)
	o.ServeMetrics(t)
	definition, err := kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	manifest.Apply(t, c.Config(), manifest.Objects(t, string(definition))...)
	var p *process.Process
	ours := run("ours", func() {
		p = process.Start(t, exec.Command(process.Build(t, process.Dir(t, "controllers/scaledjob-controller")), "-kubeconfig", c.Kubeconfig(), "-namespace", "ours",
			"-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0", "-log-format", "json", "-log-level", "debug",
			"-as-keda", operator.Release(t)))
	}, func() map[string][]decided { return decidedByController(p.Output()) })
	p.Stop()

	polls, creating, apart, differ := 0, 0, 0, 0
	for name, keda := range theirs {
		for i := range sameRounds * samePolls {
			polls++
			creating += int(min(1, keda[i].created))
			switch is := ours[name][i]; {
			case is == keda[i]:
			case is.running != keda[i].running || is.pending != keda[i].pending: // a pod started or ended late
				apart++
				t.Logf("%s, poll %d: other Jobs: running, pending and created are %v under KEDA and %v here", name, i, keda[i], is)
			default:
				differ++
				t.Errorf("%s, poll %d: running, pending and created are %v under KEDA and %v here; all: %v and %v", name, i, keda[i], is, keda, ours[name])
			}
		}
	}
	t.Logf("%d ScaledJobs, %d polls under each, %d of them create Jobs, %d with other Jobs, %d differences; Jobs: %d and %d",
		len(theirs), polls, creating, apart, differ, jobsIn(t, c, "theirs"), jobsIn(t, c, "ours"))
	require.Less(t, apart, polls/10, "polls with other running or pending Jobs prove nothing: is the machine too slow?")
}

var ownerOfJob = regexp.MustCompile(`^beside-\d+`)

// lifeOfOwner draws the life of all pods of a ScaledJob. They start and end between polls.
func lifeOfOwner(job string) cluster.Run {
	h := fnv.New64a()
	h.Write([]byte(ownerOfJob.FindString(job)))
	draw := rand.New(rand.NewPCG(h.Sum64(), 5))
	r := cluster.Run{Work: []time.Duration{-1, -1, 5, 15, 25}[draw.IntN(5)] * time.Second, Exit: int32(draw.IntN(2))}
	switch draw.IntN(6) {
	case 0:
		r.Start = 15 * time.Second
		if r.Work > 0 {
			r.Work = 10 * time.Second
		}
	case 1:
		r.Start = -1
	}
	return r
}

// decidedByKEDA returns the polls of the operator's log at level 1, by ScaledJob. The last one may have lines to come.
func decidedByKEDA(log string) map[string][]decided {
	all := map[string][]decided{}
	for line := range strings.Lines(log) {
		var l struct {
			Name    string `json:"scaledJob.Name"`
			Msg     string
			Running *int64 `json:"Number of running Jobs"`
			Pending *int64 `json:"Number of pending Jobs"`
			Jobs    int64  `json:"Number of jobs"`
		}
		if json.Unmarshal([]byte(line), &l) != nil || l.Name == "" {
			continue
		}
		polls := all[l.Name]
		switch {
		case l.Running != nil:
			all[l.Name] = append(polls, decided{running: *l.Running})
		case l.Pending != nil && len(polls) > 0:
			polls[len(polls)-1].pending = *l.Pending
		case l.Msg == "Created jobs" && len(polls) > 0:
			polls[len(polls)-1].created = l.Jobs
		}
	}
	return all
}

// decidedByController returns the polls of the controller's log at level debug, by ScaledJob.
func decidedByController(log string) map[string][]decided {
	all := map[string][]decided{}
	for line := range strings.Lines(log) {
		var l struct {
			Msg, ScaledJob string
			Decision       struct {
				Create int64
				Trace  struct {
					Jobs struct{ Running, Pending, Terminating int64 }
				}
			}
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "decided" {
			jobs := l.Decision.Trace.Jobs
			all[l.ScaledJob] = append(all[l.ScaledJob], decided{jobs.Running + jobs.Terminating, jobs.Pending, l.Decision.Create})
		}
	}
	return all
}

// jobsIn counts the Jobs of a namespace.
func jobsIn(t *testing.T, c *cluster.Cluster, namespace string) int {
	t.Helper()
	list, err := c.Client(t).BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return len(list.Items)
}
