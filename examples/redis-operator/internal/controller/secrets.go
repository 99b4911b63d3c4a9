package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/field"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
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
	s := queue.Server{Address: sj.Spec.RedisAddress}
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
		s.TLS = true
		if t.SecretName != "" {
			data, err := r.secret(ctx, sj.Namespace, t.SecretName)
			s.CA, s.Cert, s.Key = data["ca.crt"], data["tls.crt"], data["tls.key"]
			if err == nil {
				err = s.Validate()
			}
			problems.Join("spec.redisTLS.secretName", err)
		}
	}
	if err := problems.Err(); err != nil {
		return queue.Server{}, secretError{err}
	}
	return s, nil
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
