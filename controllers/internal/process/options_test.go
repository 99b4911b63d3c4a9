package process_test

// What the tests hold:
//
//	flags, exit status, all problems at once            TestRun
//	defaults                                            TestDefaults
//	metrics and probes on one address, two, or none     TestServe

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// A program counts to a number.
type program struct {
	process.Options
	number int
	ran    bool
	fails  error
}

func newProgram() *program { return &program{Options: process.Options{Name: "counter"}} }

func (p *program) Flags(flags *flag.FlagSet) {
	p.Options.Flags(flags)
	flags.IntVar(&p.number, "number", 7, "`number` to count to")
}

func (p *program) Check() error {
	err := p.Options.Check()
	if p.number < 0 {
		err = errors.Join(err, errors.New("-number is negative"))
	}
	return err
}

func (p *program) Run(_ context.Context, log *slog.Logger) error {
	p.ran = true
	log.Info("counted", "number", p.number)
	return p.fails
}

func TestRun(t *testing.T) {
	p := newProgram()
	status, said := processtest.Run(t, p, "-number=3")
	require.Zero(t, status)
	require.Contains(t, said, "msg=counted number=3")
	_, said = processtest.Run(t, newProgram(), "-log-format=json")
	require.Contains(t, said, `"msg":"counted"`)
	_, said = processtest.Run(t, newProgram(), "-log-level=warn")
	require.Empty(t, said)

	p = newProgram()
	p.fails = errors.New("it cannot count")
	status, said = processtest.Run(t, p)
	require.Equal(t, 1, status)
	require.Contains(t, said, "counter: it cannot count\n")

	p = newProgram()
	status, said = processtest.Run(t, p, "-help")
	require.Zero(t, status)
	require.Contains(t, said, "number to count to (default 7)")
	require.NotContains(t, said, "-install", "there is nothing to install")
	require.False(t, p.ran)
	p.Install = []fs.FS{fstest.MapFS{}}
	_, said = processtest.Run(t, p, "-help")
	require.Contains(t, said, "-install")

	for args, want := range map[[2]string]string{
		{"-lease-duration", "1.9s"}: "-lease-duration: found 1.9s; use 2s or more",
		{"-log-format", "xml"}:      `-log-format: found "xml"; use text or json`,
		{"start", "now"}:            "arguments: found [start now]; use flags only",
		{"-kube", "x"}:              "flag provided but not defined: -kube",
	} {
		p = newProgram()
		status, said = processtest.Run(t, p, args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
		require.False(t, p.ran)
	}
	status, said = processtest.Run(t, newProgram(), "-lease-duration=1s", "-number=-1", "-log-format=xml", "now")
	require.Equal(t, 2, status)
	for _, want := range []string{"-lease-duration", "-number", "-log-format", "arguments"} {
		require.Contains(t, said, want, "all at once")
	}
	status, _ = processtest.Run(t, newProgram(), "-lease-duration=2s")
	require.Zero(t, status)
}

// Metrics are not open to other machines unless a flag says so.
func TestDefaults(t *testing.T) {
	p := newProgram()
	require.NoError(t, process.Parse(p, nil, io.Discard))
	require.Equal(t, process.Options{
		Name: "counter", MetricsAddress: "127.0.0.1:8080", ProbesAddress: ":8081", LeaderElect: true,
		LeaseDuration: 15 * time.Second, Log: process.Log{Format: "text", Level: slog.LevelInfo},
	}, p.Options)
}

func TestServe(t *testing.T) {
	synced := atomic.Bool{}
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "metrics") })
	serve := func(o process.Options, metrics http.Handler) (addresses []string, close func()) {
		var said bytes.Buffer
		close, err := o.Serve(synced.Load, metrics, slog.New(slog.NewTextHandler(&said, nil)))
		require.NoError(t, err)
		for line := range strings.Lines(said.String()) {
			_, address, _ := strings.Cut(strings.TrimSpace(line), "address=")
			addresses = append(addresses, address)
		}
		return addresses, close
	}
	codes := func(address string) (all [3]int) {
		for i, path := range []string{"/metrics", "/healthz", "/readyz"} {
			answer, err := http.Get("http://" + address + path)
			require.NoError(t, err)
			answer.Body.Close()
			all[i] = answer.StatusCode
		}
		return all
	}
	const local = "127.0.0.1:0"
	all, close := serve(process.Options{MetricsAddress: local, ProbesAddress: local}, metrics)
	require.Len(t, all, 1)
	require.Equal(t, [3]int{200, 200, 503}, codes(all[0]))
	synced.Store(true)
	require.Equal(t, [3]int{200, 200, 200}, codes(all[0]))
	_, err := (&process.Options{ProbesAddress: all[0]}).Serve(synced.Load, metrics, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "address already in use")
	close()
	_, err = http.Get("http://" + all[0] + "/healthz")
	require.ErrorContains(t, err, "connection refused")

	all, close = serve(process.Options{MetricsAddress: "localhost:0", ProbesAddress: local}, metrics)
	defer close()
	require.Len(t, all, 2)
	require.ElementsMatch(t, [][3]int{{200, 404, 404}, {404, 200, 200}}, [][3]int{codes(all[0]), codes(all[1])})

	all, close = serve(process.Options{MetricsAddress: local, ProbesAddress: ""}, nil)
	defer close()
	require.Empty(t, all, "there are no metrics")
}

func TestConnect(t *testing.T) {
	file := processtest.Kubeconfig(t, "http://127.0.0.1:1")
	p := newProgram()
	p.Install = []fs.FS{fstest.MapFS{"a.yaml": {Data: []byte("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a}")}}}
	require.NoError(t, process.Parse(p, []string{"-kubeconfig", file}, io.Discard))
	config, err := p.Connect(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:1", config.Host)
	require.Contains(t, config.UserAgent, "counter")
	require.NoError(t, process.Parse(p, []string{"-kubeconfig", file, "-install"}, io.Discard))
	_, err = p.Connect(t.Context(), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "install a.yaml: ")
	require.NoError(t, process.Parse(p, []string{"-kubeconfig", file + "s"}, io.Discard))
	_, err = p.Connect(t.Context(), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "kubeconfigs: no such file")
}

func TestLease(t *testing.T) {
	for want, o := range map[string]process.Options{
		"leases":  {LeaseNamespace: "leases", Namespace: "mail"},
		"mail":    {Namespace: "mail"},
		"default": {},
	} {
		o.Name, o.LeaseDuration, o.LeaderElect = "counter", 15*time.Second, true
		l, err := o.NewLease(&rest.Config{}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NotNil(t, l.Client)
		require.False(t, l.MayAct(), "it is not held")
		require.Equal(t, []any{want, "counter", 15 * time.Second}, []any{l.Namespace, l.Name, l.Duration})
	}
	l, err := (&process.Options{}).NewLease(&rest.Config{}, nil)
	require.NoError(t, err)
	require.True(t, l.MayAct(), "there is none")
	require.True(t, l.Term().Marked(), "so that no Job that is refused blocks its owner")
	problem := errors.New("problem")
	require.Equal(t, problem, l.Keep(t.Context(), func(context.Context) error { return problem }))
}
