package main

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// members are the clusters that are registered.
type members struct {
	member.Clusters
	controller  *controller
	kubeconfigs map[string]string // by member; only the registry's goroutine uses it
}

// register adds and removes members as the registry does. A member with the same
// kubeconfig is not changed, and neither is a member with an invalid kubeconfig, because
// its Jobs still run.
func (m *members) register(ctx context.Context, all []registry.Member) {
	there := map[string]bool{}
	for _, r := range all {
		there[r.Name] = true
		was, known := m.kubeconfigs[r.Name]
		if r.Err != nil {
			m.controller.log.Error("member not usable", "member", r.Name, "err", r.Err)
		}
		if !known || was != r.Kubeconfig && r.Err == nil {
			m.dial(ctx, r)
		}
	}
	for name := range m.kubeconfigs {
		if !there[name] {
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
	o := member.Options{ID: c.registry.ID(r), Home: c.home, Pods: c.watchPods, Timeout: c.timeout, Interval: c.probe, MayAct: c.lease.MayAct}
	cluster, err := member.Dial(r.Name, config, o)
	if err != nil {
		c.log.Error("member not usable", "member", r.Name, "err", err)
		return
	}
	if err := m.Add(ctx, cluster); err != nil {
		c.log.Warn("not every DistributedScaledJob is tracked on the member", "member", r.Name, "err", err)
	}
	m.kubeconfigs[r.Name] = r.Kubeconfig
	c.log.Info("member registered", "member", r.Name, "server", r.Server())
}

// nowhere returns the access to a member without a valid kubeconfig: it is registered, and
// unreachable.
func nowhere(why error) *rest.Config {
	return &rest.Config{Host: "https://nowhere.invalid", Transport: refusal{why}}
}

type refusal struct{ why error }

func (r refusal) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.why }
