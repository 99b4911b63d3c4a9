package main

import (
	"context"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// members are the clusters that are registered.
type members struct {
	member.Clusters
	controller  *controller
	kubeconfigs map[string]string // of those; only the registry's goroutine uses it
}

// register makes the members those of the registry. One whose kubeconfig is the same
// as before goes on undisturbed.
func (m *members) register(ctx context.Context, all []registry.Member) {
	there := map[string]bool{}
	for _, r := range all {
		there[r.Name] = r.Err == nil
		if r.Err != nil {
			m.controller.log.Error("member not usable", "member", r.Name, "err", r.Err)
		} else if m.kubeconfigs[r.Name] != r.Kubeconfig {
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
	cluster, err := member.Dial(r.Name, r.Config, member.Options{
		ID: c.registry.ID(r), Home: c.home, Pods: c.watchPods, Timeout: c.timeout, Interval: c.probe,
	})
	if err == nil {
		err = m.Add(ctx, cluster)
	}
	if err != nil {
		c.log.Error("member not usable", "member", r.Name, "err", err)
		return
	}
	m.kubeconfigs[r.Name] = r.Kubeconfig
	c.log.Info("member registered", "member", r.Name, "server", r.Server())
}
