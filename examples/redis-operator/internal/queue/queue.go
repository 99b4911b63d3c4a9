// Package queue reads the number of items that wait in a queue.
//
// The controller reads queues through [Reader], and does not depend on Redis.
package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"

	"github.com/scaledjob/scaledjob/field"
)

// A Reader reads queues. It may be used from several goroutines.
type Reader interface {
	// Depth returns the number of items that wait in a queue of a server. It returns
	// soon after the context ends.
	Depth(ctx context.Context, server Server, queueName string) (int64, error)
}

// A Fake is a Reader for tests.
type Fake func(ctx context.Context, server Server, queueName string) (int64, error)

// Depth calls f.
func (f Fake) Depth(ctx context.Context, server Server, queueName string) (int64, error) {
	return f(ctx, server, queueName)
}

// A Server is the address of a server and the access to it. It is printed as its
// address, without the password.
type Server struct {
	Address  string // host:port
	Username string // "" is the default user of Redis
	Password string // "" sends neither user nor password
	// TLS encrypts the connection. It is needed for the fields below, in PEM.
	TLS       bool
	CA        string // authorities to trust besides the system's
	Cert, Key string // certificate of the client, and its key
}

// String returns the address alone.
func (s Server) String() string { return s.Address }

// GoString returns the same as String.
func (s Server) GoString() string { return s.Address }

// Validate returns every problem of the fields in PEM, joined.
func (s Server) Validate() error {
	_, err := s.config()
	return err
}

// config returns the client's side of TLS, or nil without TLS.
func (s Server) config() (*tls.Config, error) {
	if !s.TLS {
		return nil, nil
	}
	var problems field.Errors
	host, _, _ := net.SplitHostPort(s.Address)
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if s.CA != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(s.CA)) {
			problems.Add(field.Error{Path: "ca.crt", Found: "no certificate", Fix: "certificates in PEM"})
		}
		config.RootCAs = pool
	}
	if s.Cert != "" || s.Key != "" {
		pair, err := tls.X509KeyPair([]byte(s.Cert), []byte(s.Key))
		if err != nil { // its text may hold a part of the key
			problems.Add(field.Error{Path: "tls.crt", Found: "no certificate with the key in tls.key", Fix: "a certificate and its key, in PEM"})
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, problems.Err()
}
