// Package reading has a controller's flags for triggers, which KEDA's scalers read.
package reading

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Reader reads triggers: a [triggers.Reader], or a fake of a test.
type Reader interface {
	Read(ctx context.Context, owner triggers.Owner) ([]scaling.Metric, error)
	Formula(ctx context.Context, owner triggers.Owner, text string, values map[string]*float64) (*float64, error)
	Forget(uid types.UID)
}

// Options are the flags.
type Options struct {
	triggers.Options
	Worker triggers.Program
	Socket string // of a supervisor
	Listen string // socket on which to be the supervisor
}

// Flags adds the flags.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.StringVar(&o.Worker.Path, "trigger-worker", "", "`program` that reads triggers with KEDA's scalers; make worker.out builds it")
	flags.StringVar(&o.Socket, "trigger-supervisor", "", "Unix `socket` of a supervisor that runs the workers in another container")
	flags.StringVar(&o.Listen, "serve-triggers", "", "be the supervisor at a Unix `socket`, and do nothing else")
	flags.DurationVar(&o.Timeout, "source-timeout", 10*time.Second, "`time` within which a trigger must answer")
	flags.Int64Var(&o.Worker.Memory, "worker-memory", 300_000_000, "most `bytes` of data of a worker, the container needs as much for each of -max-workers, and for three more")
	flags.IntVar(&o.Workers, "max-workers", 4, "most `number` of workers that share the triggers of an identity; each is filled to 500 triggers before the next starts")
	flags.BoolVar(&o.Worker.Local, "allow-local-addresses", false, "let triggers use loopback, link-local and own addresses, for development")
	flags.BoolVar(&o.OpenClusterAuthentication, "open-cluster-authentication", false, "let each namespace use each ClusterTriggerAuthentication with any host, as KEDA does")
	flags.StringVar(&o.FileRoot, "file-root", "", "`directory` of filePath and credentialsFromEnvFile in the workers' container, the only files that triggers may read; a supervisor needs it too")
	flags.Func("allow-trigger", "`KIND=NAMESPACES@HOSTS` of what is off by default, separated by commas; the error of an unknown one lists the kinds", func(text string) error {
		a, err := triggers.ParseAllowance(text)
		o.Allow = append(o.Allow, a)
		return err
	})
	flags.Func("token-audience", "`NAMESPACE/SERVICEACCOUNT=AUDIENCE` of the tokens that triggers may create", func(text string) error {
		account, audience, found := strings.Cut(text, "=")
		if namespace, name, ok := strings.Cut(account, "/"); !found || !ok || namespace == "" || name == "" || audience == "" {
			return &field.Error{Path: "-token-audience", Found: fmt.Sprintf("%q", text), Fix: "NAMESPACE/SERVICEACCOUNT=AUDIENCE"}
		}
		if o.Audiences == nil {
			o.Audiences = map[string]string{}
		}
		o.Audiences[account] = audience
		return nil
	})
}

// Check returns every problem of the flags, joined.
func (o *Options) Check() error {
	var problems field.Errors
	problems.Check(o.Timeout > 0, "-source-timeout", o.Timeout, "a time above 0")
	problems.Check(o.Worker.Memory >= 200_000_000, "-worker-memory", o.Worker.Memory, "200000000 or more")
	problems.AtLeast("-max-workers", int64(o.Workers), 1)
	problems.Check(o.Worker.Path == "" || o.Socket == "", "-trigger-worker", o.Worker.Path, "either it or -trigger-supervisor")
	if o.Worker.Path != "" {
		_, err := os.Stat(o.Worker.Path)
		problems.Check(err == nil, "-trigger-worker", o.Worker.Path, "the program that make worker.out builds")
	}
	problems.Check(o.Listen == "" || o.Worker.Path != "", "-serve-triggers", o.Listen, "-trigger-worker with it")
	return problems.Err()
}

func (o *Options) program() (p triggers.Program, err error) {
	p = o.Worker
	p.Path, err = filepath.Abs(p.Path)
	p.ClusterNamespace = o.ClusterNamespace
	if o.FileRoot != "" {
		p.Files = []string{o.FileRoot}
	}
	return p, err
}

// Reader returns a reader of triggers. wake, unless nil, is called for an owner with an active push
// scaler.
func (o *Options) Reader(client kubernetes.Interface, dynamic dynamic.Interface, wake func(types.UID)) (*triggers.Reader, error) {
	if (o.Worker.Path == "") == (o.Socket == "") {
		return nil, &field.Error{Path: "-trigger-worker", Found: fmt.Sprintf("%q", o.Worker.Path), Fix: "the program that make worker.out builds, or -trigger-supervisor with a socket"}
	}
	is := o.Options
	is.Client, is.Dynamic, is.Wake, is.Start = client, dynamic, wake, triggers.Dial(o.Socket)
	if o.Socket == "" {
		p, err := o.program()
		if err != nil {
			return nil, err
		}
		is.Start = p.Start
	}
	return triggers.New(is)
}

// Serve is the supervisor until the context ends. Only this user may connect.
func (o *Options) Serve(ctx context.Context) error {
	p, err := o.program()
	if err != nil {
		return err
	}
	if err := os.Remove(o.Listen); err != nil && !os.IsNotExist(err) {
		return err
	}
	l, err := net.Listen("unix", o.Listen)
	if err != nil {
		return err
	}
	if err := os.Chmod(o.Listen, 0o600); err != nil {
		return err
	}
	return triggers.Serve(ctx, l, p.Start)
}
