package e2e

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// Annotations of pods.
const (
	takesRedis  = "takes-redis"  // a list, and
	takesRabbit = "takes-rabbit" // a queue, from which it takes
	takesItems  = "takes-items"  // as many items, as soon as it runs
	works       = "works"        // a time; 0 is at once
)

// workers are what runs in the pods: they take items, and write down which.
type workers struct {
	t         *testing.T
	address   string // of Redis
	redis     *redis.Client
	rabbit    *amqp.Channel // nil without one
	rabbitURL string

	mu    sync.Mutex
	taken map[string][]string // items by list or queue
	loads map[string]*load    // by list
}

// newWorkers connects to the real brokers. Without a Redis it makes do with a
// stand-in, and without a RabbitMQ its tests are skipped.
func newWorkers(t *testing.T) *workers {
	t.Helper()
	address := os.Getenv("SCALEDJOB_REDIS")
	if address == "" {
		address = miniredis.RunT(t).Addr()
		t.Logf("SCALEDJOB_REDIS is not set: no real Redis")
	}
	w := &workers{t: t, address: address, redis: redis.NewClient(&redis.Options{Addr: address}), taken: map[string][]string{}, loads: map[string]*load{}}
	t.Cleanup(func() { w.redis.Close() })
	if url := os.Getenv("SCALEDJOB_RABBITMQ"); url != "" {
		connection, err := amqp.Dial(url)
		require.NoError(t, err)
		t.Cleanup(func() { connection.Close() })
		w.rabbitURL = url
		w.rabbit, err = connection.Channel()
		require.NoError(t, err)
	}
	return w
}

// run is called once for each pod, from one goroutine.
func (w *workers) run(p *corev1.Pod) cluster.Run {
	w.mu.Lock()
	load := w.loads[p.Annotations[takesLoad]]
	w.mu.Unlock()
	if load != nil {
		return load.run(p)
	}
	items, _ := strconv.Atoi(p.Annotations[takesItems])
	for range items {
		if list := p.Annotations[takesRedis]; list != "" {
			w.takeRedis(list)
		}
		if queue := p.Annotations[takesRabbit]; queue != "" {
			w.takeRabbit(queue)
		}
	}
	work, _ := time.ParseDuration(p.Annotations[works])
	return cluster.Run{Work: work}
}

func (w *workers) takeRedis(list string) {
	if item, err := w.redis.LPop(context.Background(), list).Result(); err == nil {
		w.took(list, item)
	}
}

func (w *workers) takeRabbit(queue string) {
	if message, ok, err := w.rabbit.Get(queue, true); err == nil && ok {
		w.took(queue, string(message.Body))
	}
}

func (w *workers) took(from, item string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[from] = append(w.taken[from], item)
}

// list makes an empty Redis list, which is gone after the test.
func (w *workers) list(t *testing.T) string {
	t.Helper()
	name := "scaledjob-e2e-" + strings.ReplaceAll(t.Name(), "/", "-")
	remove := func() { require.NoError(t, w.redis.Del(context.Background(), name).Err()) }
	remove()
	t.Cleanup(remove)
	return name
}

// queue makes an empty RabbitMQ queue, which is gone after the test.
func (w *workers) queue(t *testing.T) string {
	t.Helper()
	if w.rabbit == nil {
		t.Skip("SCALEDJOB_RABBITMQ is not set: no RabbitMQ")
	}
	name := "scaledjob-e2e-" + strings.ReplaceAll(t.Name(), "/", "-")
	remove := func() { _, err := w.rabbit.QueueDelete(name, false, false, false); require.NoError(t, err) }
	remove()
	_, err := w.rabbit.QueueDeclare(name, true, false, false, false, nil)
	require.NoError(t, err)
	t.Cleanup(remove)
	return name
}

// send sends items with the numbers from first on.
func (w *workers) send(t *testing.T, to string, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		require.NoError(t, w.redis.RPush(t.Context(), to, strconv.Itoa(i)).Err())
	}
}

func (w *workers) publish(t *testing.T, to string, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, w.rabbit.PublishWithContext(t.Context(), "", to, true, false, amqp.Publishing{Body: []byte(strconv.Itoa(i))}))
	}
}

// once checks that the items from 0 to n - 1 were taken, each once.
func (w *workers) once(t require.TestingT, from string, n int) {
	var want []string
	for i := range n {
		want = append(want, strconv.Itoa(i))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.ElementsMatch(t, want, w.taken[from])
}
