package queue

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
)

// A server that resets each connection has one error, without the ports of the operator.
func TestResetHandshake(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	var told []string
	for range 2 {
		_, err := (&Redis{Timeout: soon}).Depth(t.Context(), Server{Address: server.Addr().String(), TLS: &tls.Config{ServerName: "redis"}}, "orders")
		require.Error(t, err)
		told = append(told, err.Error())
	}
	require.Equal(t, told[0], told[1])
}

// What a certificate says, such as a password in its names, is in no error.
func TestErrorsOfTLS(t *testing.T) {
	const name = "s3cret\x1b[31m.example.com"
	named := func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{strings.ReplaceAll(name, "\x1b[31m", "-"), "other.s3cret"}
	}
	subject := func(c *x509.Certificate) { c.Subject.CommonName = name }
	expired := func(c *x509.Certificate) { named(c); c.NotAfter = time.Now().Add(-time.Minute) }
	plain := redistest.Start(t)
	for problem, c := range map[string]struct {
		certificate []func(*x509.Certificate)
		address     string
		unknown     bool // to the client
		anonymous   bool // the client shows no certificate
		want        string
	}{
		"names":          {certificate: []func(*x509.Certificate){named}, want: "has a certificate for another name; correct redisAddress"},
		"subject":        {certificate: []func(*x509.Certificate){subject}, unknown: true, want: "has a certificate of an unknown authority; put the authority into ca.crt"},
		"expired":        {certificate: []func(*x509.Certificate){expired}, want: "has a certificate that has expired or is not valid yet; renew it"},
		"no TLS":         {address: plain.Address, want: "did not answer within 3s; if its port does not speak TLS"},
		"no certificate": {anonymous: true, want: "tls.crt and tls.key of redisTLS's Secret"},
	} {
		t.Run(problem, func(t *testing.T) {
			certificate := redistest.NewCertificate(t, c.certificate...)
			access := Server{Address: c.address, Password: "p4ss", TLS: certificate.TLS()}
			access.TLS.ServerName = "127.0.0.1"
			if c.address == "" {
				access.Address = redistest.StartEncrypted(t, certificate, "--requirepass", "p4ss").Address
			}
			if c.unknown {
				access.TLS.RootCAs = nil
			}
			if c.anonymous {
				access.TLS.Certificates = nil
			}
			_, err := (&Redis{}).Depth(t.Context(), access, "orders")
			require.ErrorContains(t, err, "redis at "+access.Address+" ")
			require.ErrorContains(t, err, c.want)
			for _, word := range []string{"s3cret", "p4ss", "\x1b", "\n"} {
				require.NotContains(t, err.Error(), word)
			}
			require.Less(t, len(err.Error()), 256)
		})
	}
}
