package queue

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
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
	case ctx.Err() != nil && server.TLS != nil:
		err = fmt.Errorf("did not answer within %s; if its port does not speak TLS, name the TLS port in redisAddress", timeout)
	case ctx.Err() != nil:
		err = fmt.Errorf("did not answer within %s", timeout)
	case errors.Is(err, errClosed) && server.TLS != nil && len(server.TLS.Certificates) == 0:
		err = fmt.Errorf("%w; it may want a certificate, tls.crt and tls.key of redisTLS's Secret", errClosed)
	}
	return 0, fmt.Errorf("redis at %s %w", server.Address, err)
}

func (r *Redis) read(ctx context.Context, server Server, list string) (int64, error) {
	conn, err := r.dial(ctx, server)
	if err != nil {
		return 0, err
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
	if server.Database != 0 {
		if _, err := ask(conn, answers, '+', "SELECT", strconv.Itoa(int(server.Database))); err != nil {
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
	if err != nil {
		return nil, fmt.Errorf("cannot be connected to: %.300w", err)
	}
	if server.TLS == nil {
		return conn, nil
	}
	secure := tls.Client(conn, server.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, errors.New(explainTLS(err))
	}
	return secure, nil
}

// explainTLS describes an error of a TLS handshake without what the server sent: a certificate may
// hold any text as a name.
func explainTLS(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
		alert     *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return "has a certificate of an unknown authority; put the authority into ca.crt of redisTLS's Secret"
	case errors.As(err, &name):
		return "has a certificate for another name; correct redisAddress, or the certificate"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "has a certificate that has expired or is not valid yet; renew it, or correct the clock"
	case errors.As(err, &invalid):
		return "has a certificate that is not valid; replace it"
	case errors.As(err, &plain):
		return "does not speak TLS on this port; name its TLS port in redisAddress, or remove redisTLS if it has none"
	case errors.As(err, &alert) && isAlert(err): // its text is of crypto/tls
		return fmt.Sprintf("refuses the TLS connection (%s); correct tls.crt and tls.key of redisTLS's Secret", alert.Err)
	}
	return "ended the TLS handshake; name its TLS port in redisAddress"
}

// isAlert reports whether the server ended a TLS connection with an alert. Since TLS 1.3 the refusal of
// a client's certificate comes after the handshake.
func isAlert(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "remote error"
}

var (
	errProtocol = errors.New("answered with something that is not Redis's protocol")
	errClosed   = errors.New("closed the connection")
)

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
		return "", errClosed
	case isAlert(err):
		return "", errors.New(explainTLS(err))
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

// codes describes the codes at the start of Redis errors, each with a remedy.
var codes = map[string]string{
	"WRONGTYPE":   "has something else than a list under the queue's name; name the list in queueName",
	"NOAUTH":      "wants a password; set redisAuth",
	"WRONGPASS":   "refuses the user name or the password; correct redisAuth or its Secret",
	"NOPERM":      "does not let the user read the queue; grant the user +llen, and +select for another database, on the key",
	"LOADING":     "is still loading its data; wait until it has",
	"MASTERDOWN":  "has lost its master; restore the replication, or name the master in redisAddress",
	"MOVED":       "is a node of a cluster, and the queue is on another; clusters are not supported, but the node with the queue may be named in redisAddress",
	"ASK":         "is a node of a cluster, and the queue is on its way to another; clusters are not supported",
	"TRYAGAIN":    "is a node of a cluster that moves the queue; clusters are not supported",
	"CLUSTERDOWN": "is a node of a cluster that is down; clusters are not supported",
	"DENIED":      "is in protected mode, and refuses other hosts; give it a user with a password (ACL SETUSER or requirepass), and name that in redisAuth",
	"BUSY":        "is busy with a script; ask the owner of the script to end it",
	"NOREPLICAS":  "has too few replicas; restore them",
	"MISCONF":     "cannot save its data; see its log",
}

// causes describes errors with the code ERR, by words of Redis that no configuration changes.
var causes = []struct{ words, cause string }{
	{"without any password configured", "has no password, and a password was sent; remove redisAuth, or set a password for the default user"},
	{"no password is set", "has no password, and a password was sent; remove redisAuth, or set requirepass"},
	{"invalid password", "refuses the password; correct redisAuth's Secret"},
	{"number of arguments for 'auth'", "knows no user names, as before Redis 6; remove redisAuth.username"},
	{"operation not permitted", "wants a password; set redisAuth"},
	{"max number of clients", "has too many clients; raise maxclients, or close connections"},
	{"unknown command", "does not know the command that reads a list: it may be a Sentinel, which is not supported; name the master in redisAddress"},
	{"db index is out of range", "does not have the database; correct redisDatabase, or raise databases in its configuration"},
	{"invalid db index", "does not have the database; correct redisDatabase"},
	{"select is not allowed in cluster mode", "is a node of a cluster, which has database 0 only; remove redisDatabase"},
	{"cluster support disabled", "has no cluster; name a standalone server in redisAddress"},
}

// explain describes an error without the server's words, which may repeat the password.
func explain(answer string) string {
	code, text, _ := strings.Cut(answer, " ")
	if cause := codes[code]; cause != "" {
		return cause
	}
	text = strings.ToLower(text)
	for _, c := range causes {
		if code == "ERR" && strings.Contains(text, c.words) {
			return c.cause
		}
	}
	return "answered with an error that has no description here; try LLEN with redis-cli and the same login"
}
