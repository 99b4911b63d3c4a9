package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/scaledjob/scaledjob/examples/internal/bounded"
)

// A dialError is an error of the network or of TLS. The server does not choose its text.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// answered reports whether the error is a Redis server's answer, so that the
// connection is of further use.
func answered(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// explain describes an error without the server's words, which may repeat the password.
// Equal problems have equal texts, so that they are reported once.
func (r *Redis) explain(ctx context.Context, address string, err error) error {
	return fmt.Errorf("redis at %s %s", address, r.reason(ctx, err))
}

func (r *Redis) reason(ctx context.Context, err error) string {
	var (
		dial    *dialError
		answer  redis.Error
		network net.Error
	)
	switch {
	case err == nil:
		return "says that the list has a negative length"
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("did not answer within %s", r.timeout())
	case errors.Is(err, bounded.ErrTooLong):
		return fmt.Sprintf("answered with more than %d bytes", bounded.MaxReply)
	case errors.As(err, &dial):
		return fmt.Sprintf("cannot be connected to: %.300s", dial.Error())
	case errors.As(err, &answer):
		return answers[code(answer)]
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed the connection"
	}
	return "answered with something that is not Redis's protocol"
}

// answers describes the codes at the start of Redis errors.
var answers = map[string]string{
	"":            "answered with an error",
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

// code returns the code of an answer, or "" if it is unknown.
func code(answer redis.Error) string {
	for word := range strings.FieldsSeq(answer.Error()) {
		if _, known := answers[word]; known {
			return word
		}
	}
	return ""
}
