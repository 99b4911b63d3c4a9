package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/check"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/redact"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

const (
	// annotationNamespaces and annotationHosts are the annotations of a
	// ClusterTriggerAuthentication: the namespaces that may use it, and the hosts to which its
	// credentials may go. Both are lists with commas.
	annotationNamespaces = "scaledjob.github.io/namespaces"
	annotationHosts      = "scaledjob.github.io/hosts"

	maxList = 5000 // objects
	page    = 500
)

// A policy answers what a worker asks in a read. It is the only place that decides which objects
// of the API server a trigger gets.
type policy struct {
	*Reader
	owner    *Owner
	position int
	class    string
	own      string // the class that the trigger itself needs

	mu      sync.Mutex
	refused error
	class2  *string             // the class that the authentication needs, if it is not class
	refs    map[string][]string // keys of the objects that the authentication refers to, as key names an object
	served  int
}

// trigger checks the trigger itself.
func (p *policy) trigger() (wire.Limits, error) {
	t := p.owner.Triggers[p.position]
	switch t.Type {
	case "external", "external-push":
		hosts, err := p.allowed(t.Type, p.owner.Namespace)
		return wire.Limits{Hosts: hosts}, err
	case "external-mock":
		return wire.Limits{}, fmt.Errorf("found type %s; use another type", t.Type)
	}
	for name := range t.Metadata {
		if strings.TrimSuffix(name, "FromEnv") == "credentialsFromEnvFile" || strings.EqualFold(name, "credentialsFromEnvFile") {
			_, err := p.allowed("credentials-file", p.owner.Namespace)
			return wire.Limits{}, err
		}
	}
	if t.Metadata["identityOwner"] == "operator" { // of a scaler of AWS
		p.own = "aws"
		hosts, err := p.allowed(p.own, p.owner.Namespace)
		return wire.Limits{Hosts: hosts}, err
	}
	return wire.Limits{}, nil
}

// refusal returns the first reason for which an answer was refused.
func (p *policy) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// needs returns the class of worker that the trigger needs, if it is another.
func (p *policy) needs() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.class2 == nil {
		return "", false
	}
	return *p.class2, true
}

// serve answers a worker. An answer that is not the object refuses the trigger, unless the owner
// marks the object as optional.
func (p *policy) serve(ctx context.Context, ask wire.Ask) wire.Answer {
	answer, err := wire.Answer{}, p.full(0)
	if err == nil {
		if answer, err = p.read(ctx, ask); err == nil {
			err = p.full(len(answer.Object))
		}
	}
	if err == nil {
		return answer
	}
	refused := redact.Line(err.Error()) // it may repeat the worker
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = errors.New(refused)
	}
	return wire.Answer{Refused: refused}
}

// full counts bytes, and returns an error if there are too many.
func (p *policy) full(bytes int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.served += bytes; p.served > maxServed {
		return fmt.Errorf("the objects that the trigger refers to have more than %d bytes", maxServed)
	}
	return nil
}

func (p *policy) read(ctx context.Context, ask wire.Ask) (wire.Answer, error) {
	what := key(ask.Kind, ask.Namespace, ask.Name)
	p.mu.Lock()
	keys, referred := p.refs[what]
	p.mu.Unlock()
	switch ask.Kind {
	case wire.Owner:
		object, err := p.owner.object(p.position)
		return wire.Answer{Object: object}, err
	case "TriggerAuthentication", "ClusterTriggerAuthentication":
		return p.authentication(ctx, ask)
	case "Secret", "ConfigMap", "ServiceAccount", "Pod", "EndpointSlice", wire.Token:
	default:
		return wire.Answer{}, fmt.Errorf("%s: found a kind that no trigger may read", what)
	}
	if ask.Namespace != p.owner.Namespace && !referred {
		return wire.Answer{}, fmt.Errorf("%s: found another namespace; use %s, or a ClusterTriggerAuthentication", what, p.owner.Namespace)
	}
	object, err := p.get(ctx, ask)
	needed, optional := p.environment(ask)
	switch {
	case apierrors.IsNotFound(err) && !referred && optional:
		return wire.Answer{Absent: true}, nil
	case err != nil:
		return wire.Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := complete(object, slices.Concat(keys, needed)); err != nil {
		return wire.Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	data, err := json.Marshal(object)
	return wire.Answer{Object: data}, err
}

// key names an object.
func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// get reads an object without the fields that no scaler needs.
func (p *policy) get(ctx context.Context, ask wire.Ask) (any, error) {
	core := p.Client.CoreV1()
	switch ask.Kind {
	case "Secret":
		s, err := core.Secrets(ask.Namespace).Get(ctx, ask.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &corev1.Secret{ObjectMeta: reduced(s.ObjectMeta), Data: s.Data, Type: s.Type}, nil
	case "ConfigMap":
		m, err := core.ConfigMaps(ask.Namespace).Get(ctx, ask.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &corev1.ConfigMap{ObjectMeta: reduced(m.ObjectMeta), Data: m.Data, BinaryData: m.BinaryData}, nil
	case "ServiceAccount":
		a, err := core.ServiceAccounts(ask.Namespace).Get(ctx, ask.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &corev1.ServiceAccount{ObjectMeta: reduced(a.ObjectMeta)}, nil
	case wire.Token:
		return p.token(ctx, ask)
	default:
		return p.list(ctx, ask)
	}
}

// reduced keeps the annotations, which hold the role of a ServiceAccount.
func reduced(m metav1.ObjectMeta) metav1.ObjectMeta {
	annotations := maps.Clone(m.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Annotations: annotations}
}

// token creates a token, for a ServiceAccount whose audience the administrator has named.
func (p *policy) token(ctx context.Context, ask wire.Ask) (any, error) {
	audience, err := p.audience(ask.Namespace, ask.Name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	_, referred := p.refs[key(wire.Token, ask.Namespace, ask.Name)]
	p.mu.Unlock()
	if !referred {
		return nil, errors.New("found no authentication that uses its tokens")
	}
	hour := int64(3600)
	r, err := p.Client.CoreV1().ServiceAccounts(ask.Namespace).CreateToken(ctx, ask.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &hour},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &authenticationv1.TokenRequest{Spec: r.Spec, Status: r.Status}, nil
}

func (o *Options) audience(namespace, account string) (string, error) {
	account = namespace + "/" + account
	if o.Audiences[account] == "" {
		return "", fmt.Errorf("found no audience for tokens of ServiceAccount %[1]s; the administrator may name one with the flag -token-audience %[1]s=AUDIENCE", account)
	}
	return o.Audiences[account], nil
}

func (p *policy) list(ctx context.Context, ask wire.Ask) (any, error) {
	options := metav1.ListOptions{LabelSelector: ask.Selector, Limit: page}
	pods, slices := corev1.PodList{}, discoveryv1.EndpointSliceList{}
	for {
		var next string
		if ask.Kind == "Pod" {
			found, err := p.Client.CoreV1().Pods(ask.Namespace).List(ctx, options)
			if err != nil {
				return nil, err
			}
			for _, pod := range found.Items {
				pods.Items = append(pods.Items, corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
					Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName}, Status: corev1.PodStatus{Phase: pod.Status.Phase},
				})
			}
			next = found.Continue
		} else {
			found, err := p.Client.DiscoveryV1().EndpointSlices(ask.Namespace).List(ctx, options)
			if err != nil {
				return nil, err
			}
			for _, s := range found.Items {
				s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}
				slices.Items = append(slices.Items, s)
			}
			next = found.Continue
		}
		switch {
		case len(pods.Items)+len(slices.Items) > maxList:
			return nil, fmt.Errorf("found more than %d objects; use a narrower selector", maxList)
		case next != "":
			options.Continue = next
		case ask.Kind == "Pod":
			return &pods, nil
		default:
			return &slices, nil
		}
	}
}

// environment returns the keys that variables of the owner need of an object. It reports whether the
// object may be absent, because each reference to it is optional.
func (p *policy) environment(ask wire.Ask) (keys []string, optional bool) {
	found, needed := false, false
	refer := func(kind string, to corev1.LocalObjectReference, key []string, absent *bool) {
		if kind != ask.Kind || to.Name != ask.Name || ask.Namespace != p.owner.Namespace {
			return
		}
		if found = true; absent == nil || !*absent {
			needed, keys = true, append(keys, key...)
		}
	}
	for _, c := range p.owner.Pod.Containers {
		for _, e := range c.EnvFrom {
			if r := e.SecretRef; r != nil {
				refer("Secret", r.LocalObjectReference, nil, r.Optional)
			}
			if r := e.ConfigMapRef; r != nil {
				refer("ConfigMap", r.LocalObjectReference, nil, r.Optional)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				refer("Secret", r.LocalObjectReference, []string{r.Key}, r.Optional)
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				refer("ConfigMap", r.LocalObjectReference, []string{r.Key}, r.Optional)
			}
		}
	}
	return keys, found && !needed
}

// complete reports keys that an authentication or a variable refers to and that an object does not
// have. KEDA takes them for empty, and builds a scaler without a password.
func complete(object any, keys []string) error {
	for _, key := range keys {
		found := true
		switch o := object.(type) {
		case *corev1.Secret:
			_, found = o.Data[key]
		case *corev1.ConfigMap:
			_, found = o.Data[key]
		}
		if !found {
			return fmt.Errorf("found no key %q, which the authentication or a variable refers to", key)
		}
	}
	return nil
}

var authentications = schema.GroupVersion{Group: "keda.sh", Version: "v1alpha1"}

// authentication reads the trigger's authentication, and no other.
func (p *policy) authentication(ctx context.Context, ask wire.Ask) (wire.Answer, error) {
	ref := p.owner.Triggers[p.position].AuthenticationRef
	cluster := ask.Kind == "ClusterTriggerAuthentication"
	if ref == nil || ref.Name != ask.Name || (ref.Kind == "ClusterTriggerAuthentication") != cluster || !cluster && ask.Namespace != p.owner.Namespace {
		return wire.Answer{}, fmt.Errorf("%s %s: found an authentication that the trigger does not refer to", ask.Kind, ask.Name)
	}
	what := ask.Kind + " " + ask.Name
	resource := p.Dynamic.Resource(authentications.WithResource(strings.ToLower(ask.Kind) + "s"))
	get := resource.Namespace(ask.Namespace).Get
	if cluster {
		get = resource.Get
	}
	u, err := get(ctx, ask.Name, metav1.GetOptions{})
	if err != nil {
		return wire.Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	var answer wire.Answer
	if cluster && !p.OpenClusterAuthentication {
		annotations := u.GetAnnotations()
		namespaces := Allowance{Namespaces: list(annotations[annotationNamespaces])}
		if !namespaces.serves(p.owner.Namespace) {
			return wire.Answer{}, fmt.Errorf("%s: found no namespace %s in its annotation %s; the administrator may add it there, or use the flag -open-cluster-authentication",
				what, p.owner.Namespace, annotationNamespaces)
		}
		answer.Hosts = append([]string{}, list(annotations[annotationHosts])...)
	}
	spec, _ := u.Object["spec"].(map[string]any)
	hosts, withhold, err := p.inspect(spec, cluster)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	switch {
	case answer.Hosts == nil:
		answer.Hosts = hosts
	case hosts != nil:
		answer.Hosts = check.Both(hosts, answer.Hosts)
	}
	answer.Withhold = withhold
	answer.Object, err = json.Marshal(map[string]any{
		"apiVersion": authentications.String(), "kind": ask.Kind,
		"metadata": map[string]any{"namespace": u.GetNamespace(), "name": ask.Name}, "spec": spec,
	})
	return answer, err
}
