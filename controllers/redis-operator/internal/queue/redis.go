package queue

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Redis is a Reader of Redis lists. Each read has a connection of its own, so that none is
// used with another login. The zero value is ready to use.
//
// Addresses are not trusted. Any server costs at most Timeout and a buffer of 4 KiB a
// read, and no error holds the words of a server, so that it cannot put a password into logs
// (TestHostile).
type Redis struct {
	// Timeout is the time for connecting and reading; 0 means 3 s.
	Timeout time.Duration
	// Dial connects, if it is set. TLS is added to its connection.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Depth returns the length of the list, or 0 if it does not exist. Equal problems have equal
// errors, so that they are reported once.
func (r *Redis) Depth(ctx context.Context, server Server, queueName string) (int64, error) {
	timeout := cmp.Or(r.Timeout, 3*time.Second)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	depth, err := r.read(ctx, server, queueName)
	switch {
	case err == nil:
		return depth, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("did not answer within %s", timeout)
	}
	return 0, fmt.Errorf("redis at %s %w", server.Address, err)
}

func (r *Redis) read(ctx context.Context, server Server, list string) (int64, error) {
	conn, err := r.dial(ctx, server)
	if err != nil {
		return 0, fmt.Errorf("cannot be connected to: %.300w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // reads and writes end
	answers := bufio.NewReader(conn)
	if server.Password != "" {
		login := []string{"AUTH", server.Password}
		if server.Username != "" {
			login = []string{"AUTH", server.Username, server.Password}
		}
		if _, err := ask(conn, answers, '+', login...); err != nil {
			return 0, err
		}
	}
	length, err := ask(conn, answers, ':', "LLEN", list)
	if err != nil {
		return 0, err
	}
	depth, err := strconv.ParseUint(length, 10, 63)
	if err != nil {
		return 0, errProtocol
	}
	return int64(depth), nil
}

// dial connects, with TLS if there is a config for it.
func (r *Redis) dial(ctx context.Context, server Server) (net.Conn, error) {
	dial := r.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", server.Address)
	if err != nil || server.TLS == nil {
		return conn, err
	}
	secure := tls.Client(conn, server.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if network := (*net.OpError)(nil); errors.As(err, &network) {
			err = network.Err // without the port of this connection
		}
		return nil, err
	}
	return secure, nil
}

var errProtocol = errors.New("answered with something that is not Redis's protocol")

// ask sends a command, and returns the rest of the answer, which begins with kind. An answer
// that is no line of the buffer's length is an error.
func ask(conn io.Writer, answers *bufio.Reader, kind byte, command ...string) (string, error) {
	request := fmt.Appendf(nil, "*%d\r\n", len(command))
	for _, word := range command {
		if strings.ContainsFunc(word, unicode.IsControl) { // a server of another protocol might obey it
			return "", errors.New("is not asked with a control character in the name, user or password")
		}
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := conn.Write(request)
	var line []byte
	if err == nil {
		line, err = answers.ReadSlice('\n')
	}
	switch answer := strings.TrimSpace(string(line)); {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "", errors.New("closed the connection")
	case err != nil, answer == "":
		return "", errProtocol
	case answer[0] == '-':
		return "", errors.New(explain(answer[1:]))
	case answer[0] != kind:
		return "", errProtocol
	default:
		return answer[1:], nil
	}
}

// codes describes the codes at the start of Redis errors.
var codes = map[string]string{
	"WRONGTYPE":   "has something else than a list under the queue's name",
	"NOAUTH":      "wants a password",
	"WRONGPASS":   "refuses the user name or the password",
	"NOPERM":      "does not let the user read the queue",
	"LOADING":     "is still loading its data",
	"MASTERDOWN":  "has lost its master",
	"MOVED":       "is a node of a cluster, and the queue is on another",
	"ASK":         "is a node of a cluster, and the queue is on its way to another",
	"CLUSTERDOWN": "is a node of a cluster that is down",
}

// explain describes an error without the server's words, which may repeat the password.
func explain(answer string) string {
	code, _, _ := strings.Cut(answer, " ")
	return cmp.Or(codes[code], "answered with an error")
}
