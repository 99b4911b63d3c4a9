package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/redact"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// A stream is a read. All that KEDA asks the API server for in its context goes to the reader.
type stream struct {
	id   uint64
	conn *wire.Conn

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan wire.Answer
	known   map[string]wire.Answer // answers of this read: what is checked is what is used
	refused error
	limits  wire.Limits // of the authentication
	managed []string    // its parameters that a secret manager has
	env     []kedav1alpha1.AuthEnvironment
	vault   bool // it is Vault's
	secrets *redact.Secrets
}

type streamKey struct{}

var errNoStream = errors.New("a request to the API server without a read")

// ask returns the reader's answer. A refusal is remembered: KEDA logs it and goes on.
func (s *stream) ask(ctx context.Context, ask wire.Ask) (wire.Answer, error) {
	key := fmt.Sprintf("%s %s/%s %s", ask.Kind, ask.Namespace, ask.Name, ask.Selector)
	s.mu.Lock()
	if a, ok := s.known[key]; ok {
		s.mu.Unlock()
		return a, s.problem(ask, a)
	}
	s.last++
	ask.N = s.last
	ch := make(chan wire.Answer, 1)
	s.waiting[ask.N] = ch
	s.mu.Unlock()
	if err := s.conn.Send(wire.Message{ID: s.id, Ask: &ask}); err != nil {
		return wire.Answer{}, err
	}
	select {
	case a := <-ch:
		s.mu.Lock()
		s.known[key] = a
		if a.Hosts != nil {
			s.limits.Hosts = a.Hosts
		}
		s.limits.Withhold = s.limits.Withhold || a.Withhold
		s.mu.Unlock()
		return a, s.problem(ask, a)
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, ask.N)
		if s.refused == nil {
			s.refused = fmt.Errorf("%s %s/%s: no answer in time", ask.Kind, ask.Namespace, ask.Name)
		}
		return wire.Answer{}, ctx.Err()
	}
}

func (s *stream) problem(ask wire.Ask, a wire.Answer) error {
	switch {
	case a.Absent:
		return apierrors.NewNotFound(schema.GroupResource{Resource: ask.Kind}, ask.Name)
	case a.Refused == "":
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = errors.New(a.Refused)
	}
	return errors.New(a.Refused)
}

func (s *stream) answered(a wire.Answer) {
	s.mu.Lock()
	ch := s.waiting[a.N]
	delete(s.waiting, a.N)
	s.mu.Unlock()
	if ch != nil {
		ch <- a
	}
}

// forgetAnswers makes the next requests ask again.
func (s *stream) forgetAnswers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = map[string]wire.Answer{}
}

func (s *stream) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// A reader is the client of the API server that KEDA gets. Its other methods are nil: a scaler
// that called one would panic, which the read reports.
type reader struct{ client.Client }

func (reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := ""
	switch into.(type) {
	case *corev1.Secret:
		kind = "Secret"
	case *corev1.ConfigMap:
		kind = "ConfigMap"
	case *corev1.ServiceAccount:
		kind = "ServiceAccount"
	case *kedav1alpha1.TriggerAuthentication:
		kind = "TriggerAuthentication"
	case *kedav1alpha1.ClusterTriggerAuthentication:
		kind = "ClusterTriggerAuthentication"
	default:
		return fmt.Errorf("a %T cannot be read", into)
	}
	s, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return errNoStream
	}
	a, err := s.ask(ctx, wire.Ask{Kind: kind, Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(a.Object, into); err != nil {
		return err
	}
	s.served(into)
	return nil
}

// served notes what no text may contain.
func (s *stream) served(object client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Secret:
		for _, value := range o.Data {
			s.secrets.Add(string(value))
		}
	case *corev1.ConfigMap:
		for _, value := range o.Data {
			if len(value) <= 4096 {
				s.secrets.AddPlain(value)
			}
		}
	case *kedav1alpha1.TriggerAuthentication:
		s.authentication(&o.Spec)
	case *kedav1alpha1.ClusterTriggerAuthentication:
		s.authentication(&o.Spec)
	}
}

func (s *stream) authentication(spec *kedav1alpha1.TriggerAuthenticationSpec) {
	s.vault = spec.HashiCorpVault != nil
	if v := spec.HashiCorpVault; v != nil && v.Credential != nil {
		s.secrets.Add(v.Credential.Token)
	}
	s.managed, s.env = nil, spec.Env
	if m := spec.AwsSecretManager; m != nil {
		for _, one := range m.Secrets {
			s.managed = append(s.managed, one.Parameter)
		}
	}
	if m := spec.GCPSecretManager; m != nil {
		for _, one := range m.Secrets {
			s.managed = append(s.managed, one.Parameter)
		}
	}
}

func (reader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	kind := ""
	switch into.(type) {
	case *corev1.PodList:
		kind = "Pod"
	case *discoveryv1.EndpointSliceList:
		kind = "EndpointSlice"
	default:
		return fmt.Errorf("a %T cannot be read", into)
	}
	s, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return errNoStream
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	ask := wire.Ask{Kind: kind, Namespace: o.Namespace}
	if o.LabelSelector != nil {
		ask.Selector = o.LabelSelector.String()
	}
	a, err := s.ask(ctx, ask)
	if err != nil {
		return err
	}
	return json.Unmarshal(a.Object, into)
}

// tokens is the client that KEDA creates tokens with. Its other methods are nil. Vault's client asks
// without the context of the read.
type tokens struct {
	typedcorev1.CoreV1Interface
	read context.Context // unless nil, the context of requests without one
}

func (t tokens) ServiceAccounts(namespace string) typedcorev1.ServiceAccountInterface {
	return accounts{namespace: namespace, read: t.read}
}

type accounts struct {
	typedcorev1.ServiceAccountInterface
	namespace string
	read      context.Context
}

func (a accounts) CreateToken(ctx context.Context, name string, request *authenticationv1.TokenRequest, _ metav1.CreateOptions) (*authenticationv1.TokenRequest, error) {
	if a.read != nil && ctx.Value(streamKey{}) == nil {
		ctx = a.read
	}
	s, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return nil, errNoStream
	}
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(ctx, wire.Ask{Kind: wire.Token, Namespace: a.namespace, Name: name, Token: data})
	if err != nil {
		return nil, err
	}
	token := &authenticationv1.TokenRequest{}
	if err := json.Unmarshal(answer.Object, token); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets.Add(token.Status.Token)
	return token, nil
}
