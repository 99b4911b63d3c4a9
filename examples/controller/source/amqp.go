package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

type amqpQueue struct {
	broker
	address string      // host:port
	tls     *tls.Config // nil without TLS
	config  amqp.Config

	gate       chan struct{} // holds a token unless a read is running
	connection *amqp.Connection
	socket     net.Conn // of connection
}

func (f *fields) amqp(b broker) Queue {
	q := &amqpQueue{broker: b, gate: make(chan struct{}, 1)}
	q.gate <- struct{}{}
	secure := f.encryption()
	port := "5672"
	if b.host.Scheme == "amqps" {
		port, q.tls = "5671", secure
		q.tls.ServerName = b.host.Hostname()
	}
	q.address = net.JoinHostPort(b.host.Hostname(), cmp.Or(b.host.Port(), port))
	q.config = amqp.Config{
		Vhost:      cmp.Or(b.vhost, strings.TrimPrefix(b.host.Path, "/"), "/"),
		SASL:       []amqp.Authentication{b.login(len(secure.Certificates) > 0)},
		Heartbeat:  10 * time.Second,
		FrameSize:  128 << 10, // 0 is no limit
		Locale:     "en_US",
		Properties: amqp.Table{"connection_name": "scaledjob-" + f.Namespace},
	}
	return q
}

// login returns the user of the URL or of the parameters, or else that of the certificate,
// or else RabbitMQ's default.
func (b broker) login(certificate bool) amqp.Authentication {
	switch {
	case b.username != "":
		return &amqp.PlainAuth{Username: b.username, Password: b.password}
	case certificate:
		return &amqp.ExternalAuth{}
	}
	return &amqp.PlainAuth{Username: "guest", Password: "guest"}
}

// Length returns the number of messages that are ready for a consumer. AMQP does not
// report unacknowledged messages. A missing queue is an error.
func (q *amqpQueue) Length(ctx context.Context) (Reading, error) {
	n, err := q.locked(ctx)
	if err != nil {
		return Reading{}, fmt.Errorf("rabbitmq %s: virtual host %q: queue %q: %w", q.address, q.config.Vhost, q.queue, ended(ctx, unquoted(err)))
	}
	return backlog{messages: float64(n)}.reading(queueLength, 0)
}

// unquoted is err without the server's words: it may send the password back in them.
func unquoted(err error) error {
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return err
	}
	reason, ok := closeReasons[e.Code]
	if !ok {
		reason = "a code that AMQP does not have"
	}
	return fmt.Errorf("the server answers %d: %s", e.Code, reason)
}

var closeReasons = map[int]string{
	amqp.ConnectionForced:   "the connection was closed by an operator",
	amqp.InvalidPath:        "the virtual host is not known",
	amqp.AccessRefused:      "the login is rejected, or lacks a permission",
	amqp.NotFound:           "there is no such queue",
	amqp.ResourceLocked:     "the queue is locked, for it is another connection's own, or its node is down",
	amqp.PreconditionFailed: "a precondition failed",
	amqp.FrameError:         "a frame error",
	amqp.SyntaxError:        "a syntax error",
	amqp.CommandInvalid:     "the command is invalid",
	amqp.ChannelError:       "a channel error",
	amqp.UnexpectedFrame:    "an unexpected frame",
	amqp.ResourceError:      "the server lacks resources",
	amqp.NotAllowed:         "there is no such virtual host, the user may not use it, or a limit is reached",
	amqp.NotImplemented:     "not implemented",
	amqp.InternalError:      "an internal error",
}

func (q *amqpQueue) locked(ctx context.Context) (int, error) {
	select {
	case <-q.gate:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { q.gate <- struct{}{} }()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	kept := q.connection != nil
	n, err := q.count(ctx)
	// A kept connection may have broken since; that is not the read's fault.
	if err != nil && kept && q.connection == nil && ctx.Err() == nil {
		return q.count(ctx)
	}
	return n, err
}

func (q *amqpQueue) count(ctx context.Context) (n int, err error) {
	if q.connection == nil {
		if err := q.dial(ctx); err != nil {
			return 0, err
		}
	}
	// The library's calls know no context: closing the socket ends them.
	stop := context.AfterFunc(ctx, func() { q.socket.Close() })
	defer func() {
		if !stop() || q.connection.IsClosed() || errors.Is(err, amqp.ErrClosed) {
			q.drop()
		}
	}()
	channel, err := q.connection.Channel()
	if err != nil {
		return 0, err
	}
	state, err := channel.QueueDeclarePassive(q.queue, false, false, false, false, nil)
	if err != nil {
		return 0, err // which has closed the channel
	}
	return state.Messages, channel.Close()
}

func (q *amqpQueue) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var d net.Dialer
	socket, err := d.DialContext(ctx, "tcp", q.address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	connection, err := q.handshake(socket)
	if !stop() || err != nil {
		socket.Close()
		return cmp.Or(err, ctx.Err())
	}
	q.connection, q.socket = connection, socket
	return nil
}

func (q *amqpQueue) handshake(socket net.Conn) (*amqp.Connection, error) {
	if q.tls != nil {
		socket = tls.Client(socket, q.tls)
	}
	return amqp.Open(socket, q.config)
}

// drop forgets the connection without waiting for the server's answer.
func (q *amqpQueue) drop() {
	q.socket.Close()
	q.connection.Close()
	q.connection, q.socket = nil, nil
}

// Close closes the connection, after the read that is under way.
func (q *amqpQueue) Close() error {
	<-q.gate
	defer func() { q.gate <- struct{}{} }()
	if q.connection == nil {
		return nil
	}
	// A broken connection cannot be closed properly; it is dropped either way.
	_ = q.connection.CloseDeadline(time.Now().Add(time.Second))
	q.drop()
	return nil
}
