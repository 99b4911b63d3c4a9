package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const hostileManifest = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c:1}]}}}
  triggers:
  - {type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: "5", host: "amqp://h/"}}
`

// bomb returns ten lists, each of nine aliases of the list before.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [" + strings.Repeat("x,", 9) + "]\n")
	for i := range 10 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	return b.String()
}

// peakHeap measures the heap until the result is called, which returns the largest number
// of bytes in use.
func peakHeap() func() uint64 {
	runtime.GC()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		for most := uint64(0); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-peak }
}

// Input that was made to do harm ends with a status, in bounded time and memory.
func TestHostileInput(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes with the race detector, and is about time and memory")
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	trigger := hostileManifest[strings.Index(hostileManifest, "  - {type"):]
	inputs := map[string]string{
		"a comment of 4 MB":            hostileManifest + "#" + strings.Repeat("x", 4<<20),
		"a name of 1 MB":               strings.Replace(hostileManifest, "orders", strings.Repeat("o", 1<<20), 1),
		"a YAML bomb":                  bomb(),
		"a YAML bomb in a manifest":    hostileManifest + bomb(),
		"an alias of itself":           strings.Replace(hostileManifest, "metadata: {queueName", "metadata: &m {<<: *m, queueName", 1),
		"200,000 lists in one another": "a: " + strings.Repeat("[", 200_000),
		"100,000 maps in one another":  strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000),
		"2,000 triggers":               hostileManifest + strings.Repeat(trigger, 2_000),
		"300 manifests":                strings.Repeat("---\n"+hostileManifest, 300),
		"every byte in a name":         strings.Replace(hostileManifest, "orders", string(every), 1),
		"a quantity of 2 GB": strings.Replace(hostileManifest, "image: example.com/c:1",
			`image: example.com/c:1, resources: {limits: {cpu: "12345678901234567890e2147483647"}}`, 1),
		"numbers above all bounds": strings.Replace(hostileManifest, `"5"`, `"1e400"`, 1) + "  maxReplicaCount: 1e400\n",
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"lint -", "explain - --queue 3", "diff - --from 2.20", "simulate - --arrivals constant:1/m --duration 1m --seeds 1", "test -"} {
				begin, peak := time.Now(), peakHeap()
				status, out, said := callWith(t, command, []byte(input))
				require.Contains(t, []int{success, found, trouble}, status)
				require.NotEmpty(t, out+said)
				require.Less(t, time.Since(begin), time.Minute, command)
				require.Less(t, peak(), uint64(511<<20), "%s: bytes in use", command)
			}
		})
	}
}
