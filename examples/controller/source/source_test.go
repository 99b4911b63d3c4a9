package source_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/field"
)

type values map[string]string

// password is what no error may have.
const password = "pa55-w0rd"

// soon is a limit for whatever happens at once on a machine without load.
const soon = time.Minute

func open(t *testing.T, p source.Params) source.Queue {
	t.Helper()
	q, err := source.Open(p, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close(q)) })
	return q
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func reads(t *testing.T, q source.Queue, want float64) {
	t.Helper()
	r, err := q.Length(within(t, soon))
	require.NoError(t, err)
	require.Equal(t, source.Reading{Value: want}, r)
}

// fails reads q, which must give an error without the password, and no number.
func fails(t *testing.T, ctx context.Context, q source.Queue) error {
	t.Helper()
	r, err := q.Length(ctx)
	require.Error(t, err)
	require.Equal(t, source.Reading{}, r)
	require.NotContains(t, err.Error(), password)
	return err
}

// heeds checks that a read of a server that never answers ends with its context.
func heeds(t *testing.T, q source.Queue) {
	t.Helper()
	start := time.Now()
	require.ErrorIs(t, fails(t, within(t, 150*time.Millisecond), q), context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(150*time.Millisecond, cancel)
	require.ErrorIs(t, fails(t, ctx, q), context.Canceled)
	require.ErrorIs(t, fails(t, ctx, q), context.Canceled, "cancelled before it starts")
	require.Less(t, time.Since(start), 5*time.Second, "a client that ignores it takes 3 s or more for each of two reads")
}

// silent is the address of a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

// broker is a real server's address, for tests that skip where there is none.
func broker(t *testing.T, variable string) string {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" {
		t.Skipf("%s is not set: it says where a server for this test is", variable)
	}
	return address
}

// A bad case is metadata that Open refuses, and the paths that it must name.
type bad struct {
	metadata       values
	authentication values
	paths          []string // below spec.triggers[1]
}

func refuses(t *testing.T, kind string, cases map[string]bad) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := source.Open(source.Params{Type: kind, Index: 1, Namespace: "mail", Metadata: c.metadata, Authentication: c.authentication}, nil)
			require.Error(t, err)
			var paths []string
			for _, p := range field.All(err) {
				paths = append(paths, p.Path)
				require.NotEmpty(t, p.Fix)
			}
			for i, p := range c.paths {
				c.paths[i] = "spec.triggers[1]." + p
			}
			require.ElementsMatch(t, c.paths, paths)
			require.NotContains(t, err.Error(), password)
		})
	}
}

func TestTypes(t *testing.T) {
	require.Equal(t, []string{"kubernetes-resource", "metrics-api", "rabbitmq", "redis"}, source.Types())
	refuses(t, "kafka", map[string]bad{"unknown": {paths: []string{"type"}}})
	_, err := source.Open(source.Params{}, nil)
	require.Error(t, err)
	known := map[string]bool{}
	for _, kind := range scaledjob.TriggerTypes() {
		known[kind] = true
	}
	for _, kind := range source.Types() {
		require.True(t, known[kind], kind)
	}
}

func TestParamsAreNotPrinted(t *testing.T) {
	p := source.Params{Type: "redis", Index: 2, Metadata: values{"a": password}, Env: values{"b": password}, Authentication: values{"c": password}}
	for _, text := range []string{p.String(), p.GoString()} {
		require.Equal(t, "spec.triggers[2] (redis)", text)
	}
}
