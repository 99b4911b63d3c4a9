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

func prepare(t testing.TB) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server to start: ", err)
	}
	return &Server{Address: freeAddress(t), t: t, args: []string{
		"--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "yes", "--appendfsync", "always",
	}}
}

// freeAddress returns an address with a free port.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Restart starts a server that was stopped, and returns when it answers.
func (s *Server) Restart() {
	s.t.Helper()
	command := exec.Command("redis-server", s.args...)
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.command = command
	s.t.Cleanup(s.Stop)
	for range 200 {
		if s.answers() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatal("redis-server does not answer")
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
		if err := client.RPush(context.Background(), list, "item").Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}
