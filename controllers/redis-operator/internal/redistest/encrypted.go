package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Certificate is a self-signed certificate for 127.0.0.1, for servers and clients.
type Certificate struct{ Cert, Key []byte } // PEM

// NewCertificate creates a Certificate, with changes if there are some.
func NewCertificate(t testing.TB, changes ...func(*x509.Certificate)) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redistest"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	for _, change := range changes {
		change(template)
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return Certificate{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
}

// TLS is a client's configuration that trusts and shows the certificate.
func (c Certificate) TLS() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Cert)
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
}

// StartEncrypted is Start with TLS, where clients must show the certificate too.
func StartEncrypted(t testing.TB, c Certificate, config ...string) *Server {
	t.Helper()
	s := prepare(t)
	s.encrypted = true
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert"), filepath.Join(folder, "key")
	for path, data := range map[string][]byte{cert: c.Cert, key: c.Key} {
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	_, port, _ := net.SplitHostPort(s.Address)
	s.args = append(s.args, "--port", "0", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	s.args = append(s.args, config...)
	s.Restart()
	return s
}
