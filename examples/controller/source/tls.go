package source

import (
	"crypto/tls"
	"crypto/x509"
)

// encryption is a client's side of TLS, as the parameters ca, cert, key and
// unsafeSsl have it.
func (f *fields) encryption() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.flag("unsafeSsl")}
	if ca := f.find([]place{authentication}, "ca"); ca.text != "" {
		c.RootCAs = authorities(ca.text)
		if c.RootCAs == nil {
			f.wrong(ca, "one or more certificates in PEM")
		}
	}
	if p := f.find([]place{authentication}, "keyPassword"); p.text != "" {
		f.wrong(p, "nothing: a key that is not encrypted")
	}
	f.certificate(c)
	return c
}

func (f *fields) certificate(c *tls.Config) {
	cert := f.find([]place{authentication}, "cert", "Cert")
	key := f.find([]place{authentication}, "key")
	switch {
	case cert.text == "" && key.text == "":
	case cert.text == "":
		f.wrong(cert, "the certificate of the key")
	case key.text == "":
		f.wrong(key, "the key of the certificate")
	default:
		pair, err := tls.X509KeyPair([]byte(cert.text), []byte(key.text))
		if err != nil {
			f.wrong(cert, "a certificate in PEM, with its key in the parameter key")
			return
		}
		c.Certificates = []tls.Certificate{pair}
	}
}

// authorities are those that the system trusts and those in pem, nil if there are
// none in pem.
func authorities(pem string) *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil
	}
	return pool
}

// enabled is the parameter tls of a TriggerAuthentication.
func (f *fields) enabled() bool {
	return f.choice(f.find([]place{authentication}, "tls"), "disable", "enable") == "enable"
}
