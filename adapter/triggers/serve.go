package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Starter starts a worker for a class of identity, "" for none, and returns the connection to
// it. Closing the connection ends the worker.
type Starter func(class string) (io.ReadWriteCloser, error)

// A Program starts workers as child processes. A worker has no variable of this process other
// than those of its identity, and no file other than its connection.
type Program struct {
	Path string // of the worker's program
	// Memory is the most bytes of data that a worker may have. The default is 300 MB, enough for
	// 1,000 triggers of Redis, but not for 2,000; [Options].Workers spreads them. A container needs
	// as much for each of these workers, and for three more.
	Memory int64
	// ClusterNamespace is the namespace of the objects that ClusterTriggerAuthentications refer
	// to. The default is keda.
	ClusterNamespace string
	// Local allows loopback, link-local and own addresses, and all files, for development and tests.
	Local bool
	// Files are directories that workers may read besides the system's and the files of their
	// identity, where the kernel has Landlock. None has a comma.
	Files []string
}

const defaultMemory = 300_000_000

// An identity is what workers of a class get besides.
type identity struct {
	variables string   // the prefix of the variables
	addresses []string // of the metadata service
}

var identities = map[string]identity{
	"aws":            {"AWS_", []string{"169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"}},
	"aws-eks":        {"AWS_", []string{"169.254.169.254", "169.254.170.23"}},
	"azure-workload": {"AZURE_", nil},
	"gcp":            {"GOOGLE_", []string{"169.254.169.254", "fd20:ce::254"}},
}

// Start starts a worker.
func (p Program) Start(class string) (io.ReadWriteCloser, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("worker of triggers: %w", err)
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	ours, theirs := os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "reader")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("worker of triggers: %w", err)
	}
	cmd := exec.Command(p.Path, p.arguments(class)...)
	cmd.Env = p.environment(class, os.Environ())
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("worker of triggers: %w", err)
	}
	c := &child{Conn: conn, ended: make(chan struct{})}
	c.kill = sync.OnceFunc(func() { _ = cmd.Process.Kill() })
	go func() {
		_ = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

func (p Program) arguments(class string) []string {
	args := []string{"-memory", strconv.FormatInt(cmp.Or(p.Memory, defaultMemory), 10)}
	if p.Local {
		args = append(args, "-local")
	}
	if len(p.Files) > 0 {
		args = append(args, "-files", strings.Join(p.Files, ","))
	}
	if addresses := identities[class].addresses; addresses != nil {
		args = append(args, "-addresses", strings.Join(addresses, ","))
	}
	return args
}

func (p Program) environment(class string, all []string) []string {
	env := []string{"KEDA_CLUSTER_OBJECT_NAMESPACE=" + cmp.Or(p.ClusterNamespace, "keda")}
	prefix := identities[class].variables
	if prefix == "" {
		return env
	}
	return append(env, slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !strings.HasPrefix(v, prefix) })...)
}

// A child is the connection to a child process.
type child struct {
	net.Conn
	kill  func()
	ended chan struct{} // closed when the process has ended
}

func (c *child) Close() error {
	err := c.Conn.Close()
	c.kill()
	<-c.ended
	return err
}

// maxClass is the most bytes of a class's name.
const maxClass = 64

// Dial returns a Starter that asks [Serve] at a Unix socket, in another container of the pod.
func Dial(socket string) Starter {
	return func(class string) (io.ReadWriteCloser, error) {
		conn, err := net.DialTimeout("unix", socket, 5*time.Second)
		if err != nil {
			return nil, fmt.Errorf("supervisor of triggers: %w", err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err = io.WriteString(conn, class+"\n"); err == nil {
			_, err = io.ReadFull(conn, make([]byte, 1)) // which Serve sends when the worker runs
		}
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("supervisor of triggers: it has started no worker: %w", err)
		}
		return conn, conn.SetDeadline(time.Time{})
	}
}

// maxWorkers is the most workers that Serve runs at once, whatever the reader asks for.
const maxWorkers = 64

// Serve starts a worker for each connection to l, until the context ends. It never ends because
// of a worker.
func Serve(ctx context.Context, l net.Listener, start Starter) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, maxWorkers)
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			time.Sleep(100 * time.Millisecond) // too many files, for example
			continue
		}
		select {
		case slots <- struct{}{}:
			serving.Go(func() { defer func() { <-slots }(); serve(ctx, conn, start) })
		default:
			conn.Close()
		}
	}
}

// serve connects conn with a worker until either of them ends.
func serve(ctx context.Context, conn net.Conn, start Starter) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	class, err := readClass(conn)
	if err != nil {
		return
	}
	worker, err := start(class)
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte{'\n'}) // copying sees an error
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(worker, conn); worker.Close() })
	_, _ = io.Copy(conn, worker)
	conn.Close()
	copying.Wait()
}

func readClass(conn net.Conn) (string, error) {
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	var class []byte
	for b := [1]byte{}; len(class) < maxClass; class = append(class, b[0]) {
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(class), nil
		}
	}
	return "", errors.New("class too long")
}
