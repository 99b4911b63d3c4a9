package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
)

const fromEnv = "FromEnv"

// A variable is an environment variable as the kubelet would set it, or an error if it is
// unknown.
type variable struct {
	value string
	err   error
}

// variables are a container's variables. others is why variables that are not
// among them can't be known.
type variables struct {
	known  map[string]variable
	others error
}

// value returns the variable's value, or "" if it is not set.
func (e variables) value(name string) (string, error) {
	v, ok := e.known[name]
	if !ok {
		return "", e.others
	}
	return v.value, v.err
}

// container returns the container of the Job's template with the environment that counts.
func container(s *scaledjob.ScaledJob, name string) (*corev1.Container, error) {
	if s.Spec.JobTargetRef == nil || len(s.Spec.JobTargetRef.Template.Spec.Containers) == 0 {
		return nil, &field.Error{Path: "spec.jobTargetRef.template", Found: "no container", Fix: "a pod template with at least one container"}
	}
	containers := s.Spec.JobTargetRef.Template.Spec.Containers
	if name == "" {
		return &containers[0], nil
	}
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i], nil
		}
	}
	return nil, fmt.Errorf("container %q: not in spec.jobTargetRef.template", name)
}

// environment resolves the container's variables in the kubelet's order: envFrom, then env;
// later values replace earlier ones. An error only makes the variables that depend on it
// unknown.
func (o objects) environment(ctx context.Context, c *corev1.Container) variables {
	e := variables{known: map[string]variable{}}
	for _, from := range c.EnvFrom {
		data, err := o.from(ctx, from)
		if err != nil {
			// An unreadable source could replace any earlier variable.
			e = variables{known: map[string]variable{}, others: err}
		}
		for k, v := range data {
			e.known[from.Prefix+k] = variable{value: v}
		}
	}
	for _, v := range c.Env {
		if set, ok := o.variable(ctx, v, e); ok {
			e.known[v.Name] = set
		}
	}
	return e
}

func (o objects) from(ctx context.Context, from corev1.EnvFromSource) (data map[string]string, err error) {
	var optional *bool
	switch {
	case from.ConfigMapRef != nil:
		optional = from.ConfigMapRef.Optional
		data, err = o.data(ctx, "ConfigMap", from.ConfigMapRef.Name)
	case from.SecretRef != nil:
		optional = from.SecretRef.Optional
		data, err = o.data(ctx, "Secret", from.SecretRef.Name)
	}
	if absent(err, optional) {
		return nil, nil
	}
	return data, err
}

// absent reports whether err means that an optional object or key does not exist. An object
// that could not be read may exist.
func absent(err error, optional *bool) bool {
	var key *missingKey
	return optional != nil && *optional && (apierrors.IsNotFound(err) || errors.As(err, &key))
}

// variable resolves v. ok is false if v is optional and not set.
func (o objects) variable(ctx context.Context, v corev1.EnvVar, e variables) (set variable, ok bool) {
	if v.ValueFrom == nil {
		value, err := expand(v.Value, e)
		return variable{value, err}, true
	}
	var optional *bool
	switch from := v.ValueFrom; {
	case from.SecretKeyRef != nil:
		optional = from.SecretKeyRef.Optional
		set.value, set.err = o.value(ctx, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.ConfigMapKeyRef != nil:
		optional = from.ConfigMapKeyRef.Optional
		set.value, set.err = o.value(ctx, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	default:
		set.err = errors.New("its value is known in a pod only: want a literal value, a secretKeyRef or a configMapKeyRef")
	}
	return set, !absent(set.err, optional)
}

// expand replaces $(NAME) by the variable's value as Kubernetes does: $$ is a $, and a
// reference to a variable that is not set stays.
func expand(text string, e variables) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			value, err := e.reference(name)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
	}
}

func (e variables) reference(name string) (string, error) {
	value, err := e.value(name)
	if err != nil {
		return "", fmt.Errorf("$(%s): %w", name, err)
	}
	if _, ok := e.known[name]; !ok {
		return "$(" + name + ")", nil
	}
	return value, nil
}
