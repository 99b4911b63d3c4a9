package secret

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// An Echo is two servers that answer every request with an error, which repeats the request
// and its password.
type Echo struct {
	HTTP, Redis string // addresses

	mu       sync.Mutex
	received strings.Builder
}

// NewEcho starts an Echo, which stops when the test ends.
func NewEcho(t testing.TB) *Echo {
	t.Helper()
	e := &Echo{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Error(w, e.note(fmt.Sprint(r.URL, r.Header, password)), http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	redis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { redis.Close() })
	go func() {
		for {
			c, err := redis.Accept()
			if err != nil {
				return
			}
			go e.serve(c)
		}
	}()
	e.HTTP, e.Redis = strings.TrimPrefix(web.URL, "http://"), redis.Addr().String()
	return e
}

// Requests returns all requests.
func (e *Echo) Requests() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.received.String()
}

// serve answers each command of Redis.
func (e *Echo) serve(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 4<<10)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		request := e.note(strings.Join(strings.Fields(string(buffer[:n])), " "))
		answer := "-ERR unknown command, with args beginning with: " + request + "\r\n"
		if _, err := io.WriteString(c, strings.Repeat(answer, strings.Count(request, "*"))); err != nil {
			return
		}
	}
}

func (e *Echo) note(text string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.received.WriteString(text)
	return text
}
