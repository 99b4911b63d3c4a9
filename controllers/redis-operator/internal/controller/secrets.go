package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/field"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
)

// The operator has no permission for Secrets. Each namespace grants it those that its
// ScaledJobs name: see config/samples/password.yaml.

// A secretError is an error of a Secret that a ScaledJob names. It holds no value of the
// Secret.
type secretError struct{ error }

func (e secretError) Unwrap() error { return e.error }

// server returns the Redis server of a ScaledJob. It reads the Secrets that the ScaledJob
// names, in the namespace of the ScaledJob and nowhere else, at each call: a Secret that
// changes needs no restart, and a permission that is withdrawn has an effect at once.
func (r *Reconciler) server(ctx context.Context, sj *v1.ScaledJob) (queue.Server, error) {
	s := queue.Server{Address: sj.Spec.RedisAddress, Database: sj.Spec.RedisDatabase}
	var problems field.Errors
	if a := sj.Spec.RedisAuth; a != nil {
		data, err := r.secret(ctx, sj.Namespace, a.SecretKeyRef.Name)
		s.Username, s.Password = a.Username, data[a.SecretKeyRef.Key]
		if err == nil && s.Password == "" {
			err = fmt.Errorf("secret %q has no value under the key %q; add it", a.SecretKeyRef.Name, a.SecretKeyRef.Key)
		}
		problems.Join("spec.redisAuth.secretKeyRef", err)
	}
	if t := sj.Spec.RedisTLS; t != nil {
		host, _, _ := net.SplitHostPort(s.Address)
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
		if t.SecretName != "" {
			data, err := r.secret(ctx, sj.Namespace, t.SecretName)
			if err == nil {
				err = certify(s.TLS, data)
			}
			problems.Join("spec.redisTLS.secretName", err)
		}
	}
	if err := problems.Err(); err != nil {
		return queue.Server{}, secretError{err}
	}
	return s, nil
}

// certify adds the authorities and the certificate of a Secret, in PEM. It returns every problem, joined.
func certify(config *tls.Config, data map[string]string) error {
	var problems field.Errors
	if data["ca.crt"] != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(data["ca.crt"])) {
			problems.Add(field.Error{Path: "ca.crt", Found: "no certificate", Fix: "certificates in PEM"})
		}
		config.RootCAs = pool
	}
	if cert, key := data["tls.crt"], data["tls.key"]; cert != "" || key != "" {
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil { // its text may hold a part of the key
			problems.Add(field.Error{Path: "tls.crt", Found: "no certificate with the key in tls.key", Fix: "a certificate and its key, in PEM"})
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return problems.Err()
}

// secret reads a Secret, without newlines at the ends of its values.
func (r *Reconciler) secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var secret corev1.Secret
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("secret %q does not exist in namespace %q; create it", name, namespace)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("secret %q in namespace %q may not be read; grant the operator get on it with a Role there", name, namespace)
	case err != nil:
		return nil, fmt.Errorf("secret %q: %w", name, err)
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = strings.TrimRight(string(value), "\r\n")
	}
	return data, nil
}
