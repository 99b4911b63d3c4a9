package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/field"
)

// members are the clusters that are registered.
type members struct {
	member.Clusters
	controller  *controller
	kubeconfigs map[string]string // with registrations, by member; only the registry's goroutine uses it

	mu            sync.Mutex
	registrations map[string]registry.Registration
	ids           map[string]string             // for statuses: where the kubeconfigs are, by member
	unreadable    map[string]*api.MemberProblem // of kubeconfigs, by member
}

// unreadableKubeconfig returns the problem of a member's kubeconfig, or nil.
func (m *members) unreadableKubeconfig(name string) *api.MemberProblem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unreadable[name]
}

// credentials notes which kubeconfigs cannot be used. The caller holds the lock.
func (m *members) credentials(registered []registry.Member, now time.Time) {
	before := m.unreadable
	m.unreadable = map[string]*api.MemberProblem{}
	for _, r := range registered {
		if r.Err == nil {
			continue
		}
		p := api.MemberProblem{Reason: api.ProblemCredentials, Message: "the previous connection, if there is one, is kept: " + adapter.ErrorText(r.Err), Since: now.UTC().Truncate(time.Second)}
		if previous := before[r.Name]; previous != nil {
			p.Since, p.Count = previous.Since, previous.Count
		}
		p.Count++
		m.unreadable[r.Name] = &p
	}
}

// allowed returns an error for each member in which objects of the namespace may not act in
// the namespaces, which are by member; "" is the same namespace. A member that is not registered gets no requests, so
// that it keeps no object from the others.
func (m *members) allowed(from string, targets map[string]string) error {
	connected := m.Names()
	m.mu.Lock()
	defer m.mu.Unlock()
	var problems field.Errors
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		registration, registered := m.registrations[name]
		if !registered && !slices.Contains(connected, name) {
			continue
		}
		if n := cmp.Or(targets[name], from); registered && !registration.Serves(n) {
			problems.Add(field.Error{Path: fmt.Sprintf("spec.memberClusters[%s]", name), Found: fmt.Sprintf("the namespace %q", n),
				Fix: fmt.Sprintf("one for which the hub has permissions on the member: %s (setup-member -serve)", strings.Join(registration.Namespaces, ", "))})
		}
		if targets[name] != "" && !registration.Allows(registry.Allowance{From: from, To: targets[name]}) {
			problems.Add(field.Error{Path: fmt.Sprintf("spec.memberClusters[%s].targetNamespace", name), Found: strconv.Quote(targets[name]),
				Fix: fmt.Sprintf("nothing, or a namespace that the registration of the member allows for %q (setup-member -allow %s=%s)", from, from, targets[name])})
		}
	}
	return problems.Err()
}

// places returns where the kubeconfigs are, by member.
func (m *members) places() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids
}

// register adds and removes members as the registry does. A member with the same
// kubeconfig is not changed, and neither is a member with an invalid kubeconfig, because
// its Jobs still run.
func (m *members) register(ctx context.Context, registered []registry.Member) {
	registrations, ids := map[string]registry.Registration{}, map[string]string{}
	for _, r := range registered {
		registrations[r.Name], ids[r.Name] = r.Registration, m.controller.registry.ID(r)
	}
	m.mu.Lock()
	m.credentials(registered, time.Now())
	m.registrations, m.ids = registrations, ids // before a new member gets a request
	m.mu.Unlock()
	for _, r := range registered {
		connection := r.Kubeconfig + r.Key() + string(r.Proof)
		before, exists := m.kubeconfigs[r.Name]
		if r.Err != nil {
			m.controller.log.Error("member not usable", "member", r.Name, "err", r.Err)
		}
		if !exists || (before != connection && r.Err == nil) {
			m.dial(ctx, r)
		}
	}
	for name := range m.kubeconfigs {
		if _, exists := registrations[name]; !exists {
			m.Remove(name)
			delete(m.kubeconfigs, name)
			m.controller.log.Info("member removed", "member", name)
		}
	}
}

func (m *members) dial(ctx context.Context, r registry.Member) {
	c := m.controller
	config := r.Config
	if r.Err != nil {
		config = nowhere(r.Err)
	}
	o := member.Options{Home: c.home, Pods: c.watchPods, Timeout: c.timeout, Interval: c.probe, Terms: c.Lease.Terms,
		UID: r.UID, Registered: r.Registered, MaxBytes: r.MaxBytes, Key: r.Proof, Namespaces: r.Namespaces, FirstContact: contact{c.Requests, c.OwnNamespace(), r.Name}.store}
	cluster, err := member.Dial(r.Name, config, o)
	if err != nil {
		c.log.Error("member not usable", "member", r.Name, "err", err)
		return
	}
	if err := m.Add(ctx, cluster); err != nil {
		c.log.Warn("not every DistributedScaledJob is tracked on the member", "member", r.Name, "err", err)
	}
	m.kubeconfigs[r.Name] = r.Kubeconfig + r.Key() + string(r.Proof)
	c.log.Info("member registered", "member", r.Name, "server", r.Server())
}

// A contact stores the UID of a member without one in its registration, in a ConfigMap beside the
// lease: the controller may not change registrations.
type contact struct {
	client            kubernetes.Interface
	namespace, member string
}

const contactsName = "multicluster-members"

// store stores the UID of the first contact, unless it is "", and returns the stored UID. All members may meet the
// hub at the same time.
func (c contact) store(ctx context.Context, uid string) (stored string, err error) {
	retriable := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err = retry.OnError(wait.Backoff{Steps: 20, Duration: 10 * time.Millisecond, Jitter: 1}, retriable, func() error {
		stored, err = c.try(ctx, uid)
		return err
	})
	return stored, err
}

func (c contact) try(ctx context.Context, uid string) (stored string, err error) {
	objects := c.client.CoreV1().ConfigMaps(c.namespace)
	contacts, err := objects.Get(ctx, contactsName, metav1.GetOptions{})
	switch {
	case uid == "" && apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsNotFound(err):
		contacts = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: contactsName}, Data: map[string]string{c.member: uid}}
		_, err = objects.Create(ctx, contacts, metav1.CreateOptions{})
	case err == nil && contacts.Data[c.member] == "" && uid != "":
		if contacts.Data == nil {
			contacts.Data = map[string]string{}
		}
		contacts.Data[c.member] = uid
		_, err = objects.Update(ctx, contacts, metav1.UpdateOptions{}) // fails if another member was stored meanwhile
	}
	if err != nil {
		return "", err
	}
	return contacts.Data[c.member], nil
}

// nowhere returns the access to a member without a valid kubeconfig: it is registered, and
// unreachable.
func nowhere(problem error) *rest.Config {
	return &rest.Config{Host: "https://nowhere.invalid", Transport: refusal{problem}}
}

type refusal struct{ problem error }

func (r refusal) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.problem }
