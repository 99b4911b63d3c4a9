// Package redistest starts Redis servers for tests, and servers that are none.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// A Server is a redis-server of its own, which keeps its data when it is stopped.
type Server struct {
	Address   string // 127.0.0.1:port
	t         testing.TB
	args      []string
	encrypted bool
	command   *exec.Cmd
}

// Start starts a redis-server with further configuration, such as "--requirepass",
// "x". It is stopped when the test ends. Without the program the test is skipped.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	s := prepare(t)
	_, port, _ := net.SplitHostPort(s.Address)
	s.args = append(s.args, "--port", port)
	s.args = append(s.args, config...)
	s.Restart()
	return s
}

// StartSentinel starts a Sentinel with an empty configuration file, and returns its address.
func StartSentinel(t testing.TB, file string) string {
	t.Helper()
	s := prepare(t)
	_, port, _ := net.SplitHostPort(s.Address)
	s.args = []string{file, "--sentinel", "--port", port, "--bind", "127.0.0.1"}
	s.Restart()
	return s.Address
}

func prepare(t testing.TB) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server to start: ", err)
	}
	return &Server{Address: processtest.FreeAddress(t), t: t, args: []string{
		"--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "yes", "--appendfsync", "always",
	}}
}

// Restart starts a server that was stopped, and returns when it answers.
func (s *Server) Restart() {
	s.t.Helper()
	command := exec.Command("redis-server", s.args...)
	require.NoError(s.t, command.Start())
	s.command = command
	s.t.Cleanup(s.Stop)
	require.Eventually(s.t, s.answers, 4*time.Second, 20*time.Millisecond, "redis-server does not answer")
}

// answers reports whether the server listens, and has loaded its data.
func (s *Server) answers() bool {
	c, err := net.Dial("tcp", s.Address)
	if err != nil {
		return false
	}
	defer c.Close()
	if s.encrypted {
		return true
	}
	reply := make([]byte, 8)
	_, err = fmt.Fprint(c, "PING\r\n")
	_, err2 := c.Read(reply)
	return err == nil && err2 == nil && string(reply) != "-LOADING"
}

// Stop kills the server, if it runs.
func (s *Server) Stop() {
	if s.command != nil {
		s.command.Process.Kill()
		s.command.Wait()
		s.command = nil
	}
}

// Push appends n items to a list, as a client with these options.
func (s *Server) Push(list string, n int, o redis.Options) {
	s.t.Helper()
	o.Addr = s.Address
	client := redis.NewClient(&o)
	defer client.Close()
	for range n {
		require.NoError(s.t, client.RPush(context.Background(), list, "item").Err())
	}
}
