package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var (
	besideFor  = flag.Duration("beside", 0, "`time` for which KEDA's operator runs beside the model; 0 skips the test")
	besideJobs = flag.Int("beside-scaledjobs", 60, "`number` of ScaledJobs")
	besideLog  = flag.String("beside-log", "", "`directory` that keeps the log and the manifests")
)

// TestBesideOperator runs KEDA's operator with ScaledJobs on a real Redis, and a real RabbitMQ if
// there is one, whose queues change. It computes every poll of its log again, and every deletion of
// a Job.
func TestBesideOperator(t *testing.T) {
	if *besideFor == 0 {
		t.Skip("use -beside 20m")
	}
	redis := redisConn(t)
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run { return lifeOf(p.Name) })
	drawn := drawScaledJobs(*besideJobs, "5", "5", "7", "10", "30")
	fill := fillers(t, drawn, redis)
	o := operator.Start(t, c)
	text := strings.Join(drawn, "---\n")
	objects := manifest.Objects(t, text)
	deletions := watchDeletions(t, c, objects)
	manifest.Apply(t, c.Config(), objects...)

	draw := rand.New(rand.NewPCG(1, 2))
	jobs := c.Client(t).BatchV1().Jobs("default")
	for end := time.Now().Add(*besideFor); time.Now().Before(end); {
		time.Sleep(500 * time.Millisecond)
		for range 1 + len(drawn)/15 {
			i := draw.IntN(len(drawn))
			for k := range 3 {
				n := draw.IntN(30) * min(1, draw.IntN(3))
				if set := fill[fmt.Sprintf("beside-%d-%d", i, k)]; set != nil {
					set(n)
				}
			}
		}
		switch name := objects[draw.IntN(len(drawn))].GetName(); draw.IntN(40) {
		case 0: // an edit of the template: a rollout
			deletions.edit(t, c, name, fmt.Sprintf(`{"spec":{"jobTargetRef":{"template":{"metadata":{"annotations":{"edit":"%d"}}}}}}`, draw.Int()))
		case 1:
			deletions.edit(t, c, name, pausedBy(`"true"`))
		case 2, 3, 4:
			deletions.edit(t, c, name, pausedBy("null"))
		case 5, 6:
			list, err := jobs.List(t.Context(), metav1.ListOptions{Limit: 20})
			require.NoError(t, err)
			if len(list.Items) > 0 {
				deletions.byHand(t, jobs, list.Items[draw.IntN(len(list.Items))].Name)
			}
		}
	}
	folder := *besideLog
	if folder == "" {
		folder = t.TempDir()
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	recompute(t, write("operator.log", o.Log(t)), write("scaledjobs.yaml", text))
	deletions.compare(t)
}

// fillers returns for each queue of the ScaledJobs a function that sets its length.
func fillers(t *testing.T, drawn []string, redis func(format string, args ...any)) map[string]func(n int) {
	t.Helper()
	fill := map[string]func(n int){}
	for i, text := range drawn {
		for k := range strings.Count(text, "- {type") {
			key := fmt.Sprintf("beside-%d-%d", i, k)
			fill[key] = func(n int) {
				redis("DEL %s", key)
				if n > 0 {
					redis("RPUSH %s%s", key, strings.Repeat(" x", n))
				}
			}
			if strings.Contains(text, "queueName: "+key+",") {
				fill[key] = rabbitQueue(t, key)
			}
		}
	}
	return fill
}

func pausedBy(value string) string {
	return `{"metadata":{"annotations":{"autoscaling.keda.sh/paused":` + value + `}}}`
}

// recompute computes the polls of a log again, and prints the numbers of polls and differences.
func recompute(t *testing.T, log, manifests string) {
	t.Helper()
	binary := process.Build(t, process.Dir(t, "cmd/scaledjob"))
	command := exec.Command(binary, "why", "--log", log, "--release", operator.Release(t), "-o", "json", manifests)
	output, err := command.Output()
	require.NoError(t, err)
	var report struct {
		ScaledJobs []struct {
			Name                              string
			Polls, Complete, Compared, Differ int
			Timeline                          []struct{ Text string }
		}
	}
	require.NoError(t, json.Unmarshal(output, &report))
	polls, complete, compared, differ := 0, 0, 0, 0
	distinct := map[string]bool{}
	for _, s := range report.ScaledJobs {
		polls, complete, compared, differ = polls+s.Polls, complete+s.Complete, compared+s.Compared, differ+s.Differ
		for _, g := range s.Timeline {
			distinct[g.Text] = true
			if strings.Contains(g.Text, "differs") {
				t.Logf("%s: %s", s.Name, g.Text)
			}
		}
	}
	t.Logf("KEDA %s: %d ScaledJobs, %d polls, %d complete, %d computed again, %d distinct, %d differences",
		operator.Release(t), len(report.ScaledJobs), polls, complete, compared, len(distinct), differ)
	require.NotZero(t, compared)
	require.Zero(t, differ)
}

// patch changes a ScaledJob, and returns its generation.
func patch(t *testing.T, c *cluster.Cluster, name, text string) int64 {
	t.Helper()
	client := manifest.Client(t, c.Config(), manifest.Objects(t, "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: "+name+", namespace: default}\n")[0])
	changed, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	require.NoError(t, err)
	return changed.GetGeneration()
}

// lifeOf draws the life of a pod by its name.
func lifeOf(name string) cluster.Run {
	h := fnv.New64a()
	h.Write([]byte(name))
	draw := rand.New(rand.NewPCG(h.Sum64(), 3))
	r := cluster.Run{Start: time.Duration(draw.IntN(20)) * time.Second, Work: time.Duration(draw.IntN(40)) * time.Second}
	if draw.IntN(5) == 0 {
		r.Exit = 1
	}
	if draw.IntN(15) == 0 {
		r.Start = -1
	}
	return r
}

// drawScaledJobs draws manifests over all that decides, with one of the polling intervals.
func drawScaledJobs(n int, intervals ...string) (all []string) {
	draw := rand.New(rand.NewPCG(7, 7))
	pick := func(values ...string) string { return values[draw.IntN(len(values))] }
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: beside-%d, namespace: default}\nspec:\n", i)
		fmt.Fprintf(&b, "  pollingInterval: %s\n  successfulJobsHistoryLimit: %d\n  failedJobsHistoryLimit: %d\n", pick(intervals...), draw.IntN(6), draw.IntN(6))
		if draw.IntN(2) == 0 {
			fmt.Fprintf(&b, "  minReplicaCount: %d\n", draw.IntN(5))
		}
		fmt.Fprintf(&b, "  maxReplicaCount: %d\n", 1+draw.IntN(15))
		fmt.Fprintf(&b, "  rollout: {%s}\n", pick("", "strategy: gradual", "strategy: immediate", "propagationPolicy: foreground"))
		fmt.Fprintf(&b, "  scalingStrategy:\n    strategy: %s\n    multipleScalersCalculation: %s\n", pick("default", "custom", "accurate", "eager"), pick("max", "min", "avg", "sum"))
		fmt.Fprintf(&b, "    customScalingQueueLengthDeduction: %d\n    customScalingRunningJobPercentage: %q\n", draw.IntN(4), pick("0", "0.5", "1", "0.33"))
		if draw.IntN(3) == 0 {
			b.WriteString("    pendingPodConditions: [Ready]\n")
		}
		fmt.Fprintf(&b, "  jobTargetRef: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, env: [{name: RABBITMQ, value: %q}]}]}}}\n  triggers:\n", os.Getenv("SCALEDJOB_RABBITMQ"))
		for k := range 1 + draw.IntN(3) {
			if os.Getenv("SCALEDJOB_RABBITMQ_HTTP") != "" && draw.IntN(3) == 0 {
				fmt.Fprintf(&b, "    - {type: rabbitmq, metadata: {hostFromEnv: RABBITMQ, queueName: beside-%d-%d, mode: QueueLength, value: %q, activationValue: %q}}\n",
					i, k, pick("1", "2", "5"), pick("0", "0", "2"))
				continue
			}
			fmt.Fprintf(&b, "    - {type: redis, metadata: {address: %q, listName: beside-%d-%d, listLength: %q, activationListLength: %q}}\n",
				redisAddress(), i, k, pick("1", "1", "2", "3", "5"), pick("0", "0", "0", "2", "10"))
		}
		all = append(all, b.String())
	}
	return all
}

func redisAddress() string {
	if address := os.Getenv("SCALEDJOB_REDIS"); address != "" {
		return address
	}
	return "127.0.0.1:6379"
}

// redisConn returns a function that sends an inline command.
func redisConn(t *testing.T) func(format string, args ...any) {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", redisAddress())
	require.NoError(t, err, "Redis at SCALEDJOB_REDIS")
	t.Cleanup(func() { conn.Close() })
	answer := make([]byte, 1000)
	return func(format string, args ...any) {
		_, err := fmt.Fprintf(conn, format+"\r\n", args...)
		require.NoError(t, err)
		n, err := conn.Read(answer)
		require.NoError(t, err)
		require.NotEqual(t, byte('-'), answer[0], string(answer[:n]))
	}
}
