package redistest

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Hostile has the actions of servers that are not Redis, or want to do harm. Each is given
// a connection, and what the client has sent first.
var Hostile = map[string]func(c net.Conn, sent string){
	"never answers":           func(c net.Conn, _ string) { io.Copy(io.Discard, c) },
	"hangs up":                func(net.Conn, string) {},
	"speaks HTTP":             func(c net.Conn, _ string) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
	"answers nonsense":        func(c net.Conn, _ string) { c.Write([]byte{0, 255, 13, 10, 13, 10, 7}) },
	"announces 1 GB":          func(c net.Conn, _ string) { io.WriteString(c, "$1073741824\r\n"); io.Copy(io.Discard, c) },
	"has a length of 1 GB":    func(c net.Conn, _ string) { gigabyte(c, ":") },
	"has an error of 1 GB":    func(c net.Conn, _ string) { gigabyte(c, "-ERR ") },
	"has a negative length":   func(c net.Conn, sent string) { answer(c, sent, ":-5") },
	"has a length above 2^63": func(c net.Conn, sent string) { answer(c, sent, ":9223372036854775808") },
	"has a word for a length": func(c net.Conn, sent string) { answer(c, sent, "+OK") },
	"repeats what it is sent": func(c net.Conn, sent string) {
		io.WriteString(c, "-ERR unknown command, with args beginning with: "+strings.Join(strings.Fields(sent), " ")+"\r\n")
	},
	"sends a byte now and then": func(c net.Conn, _ string) {
		for {
			if _, err := io.WriteString(c, "+"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	},
}

func gigabyte(c net.Conn, begin string) {
	io.WriteString(c, begin)
	block := bytes.Repeat([]byte("1"), 1<<20)
	for range 1 << 10 {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// answer accepts any login, and answers the question for a list's length.
func answer(c net.Conn, sent, length string) {
	if strings.Contains(sent, "AUTH") {
		io.WriteString(c, "+OK\r\n")
		c.Read(make([]byte, 4<<10))
	}
	io.WriteString(c, length+"\r\n")
}

// A Listener is a server that is not Redis.
type Listener struct {
	Address string

	mu   sync.Mutex
	sent []byte
	open int
}

// Listen has be called for each connection, after what the client sends first; the
// connection is then closed.
func Listen(t testing.TB, be func(c net.Conn, sent string)) *Listener {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	l := &Listener{Address: server.Addr().String()}
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go l.serve(c, be)
		}
	}()
	return l
}

func (l *Listener) serve(c net.Conn, be func(net.Conn, string)) {
	defer c.Close()
	defer l.count(-1)
	l.count(1)
	buffer := make([]byte, 4<<10)
	n, err := c.Read(buffer)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.sent = append(l.sent, buffer[:n]...)
	l.mu.Unlock()
	be(c, string(buffer[:n]))
}

func (l *Listener) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

// Sent is what clients have sent first.
func (l *Listener) Sent() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.sent)
}

// Open is how many connections there are.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
