package controller

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
)

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// authorized is a ScaledJob of a namespace that logs in with the Secret redis.
func authorized(namespace string) *v1.ScaledJob {
	sj := scaledJob()
	sj.Namespace = namespace
	sj.Spec.RedisAuth = &v1.RedisAuth{Username: "worker", SecretKeyRef: v1.SecretKeyRef{Name: "redis", Key: "password"}}
	return sj
}

// A ScaledJob uses the Secret of its own namespace and no other, also if a ScaledJob of
// another namespace has a Secret for the same address.
func TestSecretsOfTheNamespace(t *testing.T) {
	plain := scaledJob()
	plain.Namespace = "plain"
	benched(t, func(b *bench) {
		for _, c := range []struct {
			namespace, reason string
			server            queue.Server
		}{
			{"shop", "True Connected", queue.Server{Address: "redis:6379", Username: "worker", Password: "s3cret"}},
			{"mail", "True Connected", queue.Server{Address: "redis:6379", Username: "worker", Password: "0ther"}},
			{"none", "False SecretUnreadable", queue.Server{}},
			{"plain", "True Connected", queue.Server{Address: "redis:6379"}},
		} {
			b.reads = nil
			var asked []client.ObjectKey
			b.getting = func(key client.ObjectKey, o client.Object) error {
				if _, ok := o.(*corev1.Secret); ok {
					asked = append(asked, key)
				}
				return nil
			}
			key := client.ObjectKey{Namespace: c.namespace, Name: "image-processor"}
			b.reconcile(key)
			var sj v1.ScaledJob
			require.NoError(b, b.Get(b.Context(), key, &sj))
			require.Equal(b, "QueueConnected "+c.reason, conditions(sj.Status)[0])
			if c.namespace == "plain" {
				require.Empty(b, asked)
			} else {
				require.Equal(b, []client.ObjectKey{{Namespace: c.namespace, Name: "redis"}}, asked)
			}
			if c.server.Address == "" {
				require.Empty(b, b.reads, "nothing is sent without the password")
			} else {
				require.Equal(b, []queue.Server{c.server}, b.reads)
			}
		}
	}, authorized("shop"), secret("shop", "redis", map[string]string{"password": "s3cret\r\n"}),
		authorized("mail"), secret("mail", "redis", map[string]string{"password": "0ther"}), authorized("none"), plain)
}

// A Secret that cannot be used is reported with its name and what to do, and without its
// values. It is read again at the next reconcile.
func TestSecretUnreadable(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		tls     *v1.RedisTLS
		data    map[string]string
		err     error
		message string
	}{
		"forbidden": {err: apierrors.NewForbidden(resource, "redis", errors.New("no")),
			message: `spec.redisAuth.secretKeyRef: secret "redis" in namespace "production" may not be read; grant the operator get on it with a Role there`},
		"absent": {err: apierrors.NewNotFound(resource, "redis"),
			message: `spec.redisAuth.secretKeyRef: secret "redis" does not exist in namespace "production"; create it`},
		"away":      {err: errors.New("timeout"), message: `spec.redisAuth.secretKeyRef: secret "redis": timeout`},
		"no key":    {data: map[string]string{"token": "s3cret"}, message: `spec.redisAuth.secretKeyRef: secret "redis" has no value under the key "password"; add it`},
		"empty":     {data: map[string]string{"password": "\n"}, message: `has no value under the key "password"`},
		"authority": {tls: &v1.RedisTLS{SecretName: "redis"}, data: map[string]string{"password": "p", "ca.crt": "s3cret"}, message: "spec.redisTLS.secretName.ca.crt: found no certificate; use certificates in PEM"},
		"key":       {tls: &v1.RedisTLS{SecretName: "redis"}, data: map[string]string{"password": "p", "tls.key": "s3cret"}, message: "spec.redisTLS.secretName.tls.crt: found no certificate with the key in tls.key"},
		"TLS absent": {tls: &v1.RedisTLS{SecretName: "tls"}, data: map[string]string{"password": "p"},
			message: `spec.redisTLS.secretName: secret "tls" does not exist in namespace "production"`},
	} {
		t.Run(name, func(t *testing.T) {
			sj := authorized("production")
			sj.Spec.RedisTLS = c.tls
			stored := secret("production", "redis", c.data)
			benched(t, func(b *bench) {
				b.depth = 20
				b.getting = func(_ client.ObjectKey, o client.Object) error {
					if _, ok := o.(*corev1.Secret); ok {
						return c.err
					}
					return nil
				}
				require.Equal(b, retryAfter, b.reconciles())
				require.Empty(b, b.reads)
				require.Empty(b, b.jobs())
				status := b.stored().Status
				require.Equal(b, []string{"QueueConnected False SecretUnreadable", "Ready False SecretUnreadable"}, conditions(status))
				require.Contains(b, status.Conditions[0].Message, c.message)
				told := b.told()
				require.Len(b, told, 1)
				require.Contains(b, told[0], "Warning SecretUnreadable ")
				require.NotContains(b, told[0], "s3cret")

				b.getting = nil
				b.edit(func(sj *v1.ScaledJob) { sj.Spec.RedisTLS = nil })
				if name == "no key" || name == "empty" || c.err != nil {
					stored.Data = map[string][]byte{"password": []byte("right")}
					require.NoError(b, b.Update(b.Context(), stored))
				}
				require.Equal(b, poll, b.reconciles())
				require.Len(b, b.jobs(), 2)
				require.Contains(b, b.told(), "Normal QueueConnected The queue can be read again")
			}, sj, stored)
		})
	}
}

func TestServer(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	cert, key := string(certificate.Cert), string(certificate.Key)
	sj := scaledJob()
	sj.Spec.RedisTLS = &v1.RedisTLS{}
	benched(t, func(b *bench) {
		s, err := b.server(b.Context(), sj)
		require.NoError(b, err)
		require.Equal(b, queue.Server{Address: "redis:6379", TLS: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "redis"}}, s, "the authorities of the system")
		sj.Spec.RedisTLS.SecretName = "tls"
		s, err = b.server(b.Context(), sj)
		require.NoError(b, err)
		require.Equal(b, certificate.TLS().Certificates, s.TLS.Certificates)
		_, err = s.TLS.Certificates[0].Leaf.Verify(x509.VerifyOptions{Roots: s.TLS.RootCAs, CurrentTime: s.TLS.Certificates[0].Leaf.NotBefore})
		require.NoError(b, err)
	}, secret(sj.Namespace, "tls", map[string]string{"ca.crt": cert, "tls.crt": cert, "tls.key": key}))
}
