// Worker reads triggers with KEDA's scalers, for the reader of package triggers. It has no access
// to Kubernetes, no variable but those of its identity, a limit of memory, and, unless -local is
// set, no way to a loopback, link-local or own address, and no files but those of the system. It speaks on file descriptor 3.
//
// Only a supervisor starts it: the reader's process, or triggers.Serve.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scaling/resolver"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// connection is the file descriptor of the connection to the reader.
const connection = 3

func main() {
	if err := run(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run() error {
	var c confinement
	flag.Uint64Var(&c.memory, "memory", 300_000_000, "most `bytes` of data")
	flag.BoolVar(&c.local, "local", false, "allow loopback, link-local and own addresses")
	addresses := flag.String("addresses", "", "comma-separated `addresses` that are allowed nevertheless")
	files := flag.String("files", "", "comma-separated `directories` that it may read")
	flag.IntVar(&c.listener, "listener", 0, "set by the program itself")
	own := flag.String("own", "", "set by the program itself")
	flag.Parse()
	c.addresses, c.own, c.files = list(*addresses), list(*own), list(*files)
	if err := c.apply(); err != nil {
		return err
	}
	// KEDA logs scalers with their credentials.
	logf.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	net.DefaultResolver = &net.Resolver{PreferGo: true}
	debug.SetMemoryLimit(int64(c.memory) * 8 / 10)
	file := os.NewFile(connection, "reader")
	conn, err := net.FileConn(file)
	if err != nil {
		return err
	}
	file.Close()
	runtime.GC()
	return newWorker(wire.NewConn(conn, wire.FromReader)).run()
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// A confinement limits the memory of the process, the addresses to which it connects, and the files
// that it reads.
//
// A seccomp filter asks a goroutine of this process about each address. It therefore holds for
// names, redirects, and clients with resolvers of their own. What KEDA's scalers read cannot change
// an address between the question and the call. The filter needs no privilege, and Linux 5.5.
type confinement struct {
	memory         uint64
	local          bool
	addresses, own []string // allowed nevertheless; refused besides
	files          []string // directories that it may read besides those of the system
	listener       int      // descriptor of the filter's questions, if the filter is installed
}

// configure sets KEDA's strictest values.
func configure(s *wire.Setup) error {
	c := &resolver.Config{
		FilePathAuthRootPath: s.FileRoot, AllowedOutboundEndpoints: s.VaultEndpoints, OutboundEndpointPolicy: "enforce",
		ServiceAccountTokenMode: "enforce-audience",
	}
	for _, a := range s.Audiences {
		c.ServiceAccountTokenAudiences = append(c.ServiceAccountTokenAudiences, resolver.ServiceAccountTokenAudience{
			Audience: a.Audience, Namespace: a.Namespace, ServiceAccountName: a.ServiceAccount,
		})
	}
	if err := c.Validate(); err != nil {
		return err
	}
	resolver.SetConfig(c)
	return nil
}

// limit limits the process's data. The limit stays if the program starts itself again.
func limit(bytes uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &now); err != nil {
		return err
	}
	now.Cur, now.Max = min(bytes, now.Max), min(bytes, now.Max)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &now)
}
