package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
)

// hostileAnswers are the answers of a server by their paths.
var hostileAnswers = map[string]func(http.ResponseWriter){
	"/a":    func(w http.ResponseWriter) { fmt.Fprintf(w, `{"a": %q}`, strings.Repeat("x", 1000)) },
	"/slow": func(w http.ResponseWriter) { time.Sleep(time.Second); fmt.Fprint(w, `{"a": 3}`) },
	"/less": func(w http.ResponseWriter) { fmt.Fprint(w, `{"a": -3}`) },
	"/huge": func(w http.ResponseWriter) { fmt.Fprint(w, `{"a": 1e300}`) },
	"/nan":  func(w http.ResponseWriter) { fmt.Fprint(w, `{"a": "NaN"}`) },
	"/endless": func(w http.ResponseWriter) {
		for block := bytes.Repeat([]byte("1"), 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	},
	// KEDA takes the first number of each point.
	"/panic/render": func(w http.ResponseWriter) { fmt.Fprint(w, `[{"target": "a", "datapoints": [[]]}]`) },
}

// doubled returns variables of 8 GB.
func doubled() []corev1.Container {
	env := []corev1.EnvVar{{Name: "A0", Value: strings.Repeat("x", 1000)}}
	for i := range 23 {
		before := env[i].Name
		env = append(env, corev1.EnvVar{Name: fmt.Sprint("A", i+1), Value: "$(" + before + ")$(" + before + ")"})
	}
	return []corev1.Container{{Name: "c", Env: env}}
}

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) string { return serve(t, func(net.Conn) {}) }

// Beside what hangs, panics, is slow, lies or needs any memory, 20 healthy owners miss at most one
// poll for each of them, and this process keeps its memory.
func TestHostileTriggers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hostileAnswers[r.URL.Path](w) }))
	t.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(silentServer(t))
	require.NoError(t, err)
	address := aRedis(t, "")
	r := reads(t, triggers.Options{Timeout: 10 * time.Second}, nil)
	healthy := func(missed map[string]int) {
		var reading sync.WaitGroup
		var mu sync.Mutex
		for i := range 20 {
			reading.Go(func() {
				name := fmt.Sprint("good-", i)
				metrics, err := r.Read(t.Context(), owner(name, redis(address, "list")))
				mu.Lock()
				defer mu.Unlock()
				if err != nil || metrics[0].Value != 7 {
					missed[name]++
				}
			})
		}
		reading.Wait()
	}
	healthy(map[string]int{})
	before := memory()
	doubling := owner("doubled", redis(address, "list"))
	doubling.Pod.Containers = doubled()
	for _, c := range []struct {
		name string
		bad  triggers.Owner
		says string // "" is a value
	}{
		{"slow", owner("slow", api(server.URL+"/slow", "a")), ""},
		{"below 0", owner("less", api(server.URL+"/less", "a")), ""},
		{"too much", owner("huge", api(server.URL+"/huge", "a")), "use a finite number"},
		{"not a number", owner("nan", api(server.URL+"/nan", "a")), "."},
		{"panics", owner("panics", manifest.ScaleTrigger{Type: "graphite", Metadata: map[string]string{
			"serverAddress": server.URL + "/panic", "query": "a", "threshold": "1", "queryTime": "-1Hours"}}), "the scaler panicked: .*index out of range"},
		{"doubled variables", doubling, "the worker ended"},
		{"endless", owner("endless", api(server.URL+"/endless", "a")), "."},
		{"doubled answer", owner("location", api(server.URL+"/a", strings.Repeat("[@this,@this]|", 22)+"0")), "the worker ended|did not answer in time"}, // on a slow machine
		{"hangs", owner("hangs", manifest.ScaleTrigger{Type: "mysql", Metadata: map[string]string{
			"host": host, "port": port, "username": "a", "password": "b", "dbName": "c", "query": "SELECT 1", "queryValue": "1"}}), "."},
	} {
		t.Run(c.name, func(t *testing.T) {
			done, missed := make(chan error, 1), map[string]int{}
			go func() {
				_, err := r.Read(context.Background(), c.bad)
				done <- err
			}()
			for reading := true; reading; {
				healthy(missed)
				select {
				case err = <-done:
					reading = false
				case <-time.After(100 * time.Millisecond):
				}
			}
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
				require.Regexp(t, c.says, err.Error())
			}
			healthy(missed)
			for name, n := range missed {
				require.LessOrEqual(t, n, 1, name)
			}
			t.Logf("%d of 20 missed a poll: %v", len(missed), err)
		})
	}
	require.Less(t, memory()-before, uint64(64<<20))
	_, err = r.Read(t.Context(), doubling)
	require.ErrorContains(t, err, "the worker ended", "alone")
	_, err = r.Read(t.Context(), doubling)
	require.ErrorContains(t, err, "the next read is at")
}

// memory returns the most memory that this process has had of the system, in bytes.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}
