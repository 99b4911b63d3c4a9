package redistest

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Hostile has the actions of servers that are not Redis, or want to do harm. Each is given
// a connection, and what the client has sent first.
var Hostile = map[string]func(c net.Conn, sent []byte){
	"never answers":                    func(c net.Conn, _ []byte) { io.Copy(io.Discard, c) },
	"hangs up":                         func(net.Conn, []byte) {},
	"speaks HTTP":                      func(c net.Conn, _ []byte) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
	"answers nonsense":                 func(c net.Conn, _ []byte) { c.Write([]byte{0, 255, 13, 10, 13, 10, 7}) },
	"answers 1 GB":                     func(c net.Conn, _ []byte) { gigabyte(c, "$1073741824\r\n") },
	"has a line of 1 GB":               func(c net.Conn, _ []byte) { gigabyte(c, "+") },
	"has an error of 1 GB":             func(c net.Conn, _ []byte) { gigabyte(c, "-ERR ") },
	"announces 1 GB":                   func(c net.Conn, _ []byte) { io.WriteString(c, "$1073741824\r\n"); io.Copy(io.Discard, c) },
	"announces more than there can be": func(c net.Conn, _ []byte) { io.WriteString(c, "$9223372036854775807\r\n") },
	"announces 10^9 elements":          func(c net.Conn, _ []byte) { io.WriteString(c, "*1000000000\r\n") },
	"announces 10^9 pairs":             func(c net.Conn, _ []byte) { io.WriteString(c, "%1000000000\r\n") },
	"nests arrays":                     func(c net.Conn, _ []byte) { io.WriteString(c, strings.Repeat("*9999\r\n", 2000)) },
	"has a negative length":            func(c net.Conn, sent []byte) { answerLength(c, sent, ":-5\r\n") },
	"has a length above 2^63":          func(c net.Conn, sent []byte) { answerLength(c, sent, ":9223372036854775808\r\n") },
	"answers with a word":              func(c net.Conn, sent []byte) { answerAll(c, sent, "+OK\r\n") },
	"repeats what it is sent": func(c net.Conn, sent []byte) {
		words := strings.Fields(string(sent))
		answerAll(c, sent, "-ERR unknown command, with args beginning with: "+strings.Join(words, " ")+"\r\n")
	},
	"sends a byte now and then": func(c net.Conn, _ []byte) {
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
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 1 << 10 {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// answerAll answers every command with the same.
func answerAll(c net.Conn, sent []byte, answer string) {
	answerEach(c, sent, func(string) string { return answer })
}

// answerLength answers the question for a list's length, and is an old Redis otherwise.
func answerLength(c net.Conn, sent []byte, answer string) {
	answerEach(c, sent, func(command string) string {
		switch {
		case strings.Contains(command, "hello"):
			return "-ERR\r\n"
		case strings.Contains(command, "llen"):
			return answer
		}
		return "+OK\r\n"
	})
}

func answerEach(c net.Conn, sent []byte, answer func(command string) string) {
	buffer := make([]byte, 4<<10)
	for {
		for command := range strings.SplitSeq(strings.TrimPrefix(string(sent), "*"), "*") {
			if _, err := io.WriteString(c, answer(command)); err != nil {
				return
			}
		}
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		sent = buffer[:n]
	}
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
func Listen(t testing.TB, be func(c net.Conn, sent []byte)) *Listener {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

func (l *Listener) serve(c net.Conn, be func(net.Conn, []byte)) {
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
	be(c, buffer[:n])
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
