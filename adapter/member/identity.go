package member

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// identify returns an error if the member is another cluster than at its registration or, without
// a UID there, at the first contact, or if it is one that another member is.
func (c *Cluster) identify(ctx context.Context) error {
	system, err := c.clients.Requests.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	hidden := c.options.UID == "" && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err))
	if err != nil && !hidden {
		return err
	}
	uid := ""
	if !hidden {
		uid = string(system.UID)
	}
	stored, failed := c.stored(ctx, uid)
	switch {
	case failed != nil:
		return fmt.Errorf("the UID of the first contact: %w", failed)
	case stored == "":
		return nil // no registration asks for it, and the member has never shown it
	case hidden:
		return err
	case uid != stored:
		source, fix := "its registration", "register it anew"
		if c.options.UID == "" {
			source, fix = "the first contact", "set its UID in its registration, if that is right"
		}
		return fmt.Errorf("it is another cluster: its namespace kube-system has UID %q, and %s has %q; %s", short(uid), source, stored, fix)
	}
	c.health.mu.Lock()
	jury := c.health.jury
	c.health.mu.Unlock()
	if jury == nil || uid == "" {
		return nil
	}
	jury.mu.Lock()
	defer jury.mu.Unlock()
	other := jury.owners[uid]
	if other != nil && other != c && !c.before(other) {
		return fmt.Errorf("it is the same cluster as member %s, which was registered before; run delete-member for this name, without --member-kubeconfig", other.name)
	}
	if jury.owners == nil {
		jury.owners = map[string]*Cluster{}
	}
	jury.owners[uid] = c
	return nil
}

// stored returns the UID of the member, which is this one at the first contact. "" is none.
func (c *Cluster) stored(ctx context.Context, uid string) (string, error) {
	if stored := c.firstUID(""); stored != "" || c.options.FirstContact == nil {
		return c.firstUID(uid), nil
	}
	stored, err := c.options.FirstContact(ctx, uid)
	if err != nil {
		return "", err
	}
	return c.firstUID(stored), nil
}

// firstUID returns the UID of the member, which is this one if there is none yet.
func (c *Cluster) firstUID(uid string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid = cmp.Or(c.uid, uid)
	return c.uid
}

// before reports whether the member keeps a UID that the other shows, too: if its registration has
// it, or it was registered before, or has the first name.
func (c *Cluster) before(other *Cluster) bool {
	if registered := c.options.UID != ""; registered != (other.options.UID != "") {
		return registered
	}
	if n := c.options.Registered.Compare(other.options.Registered); n != 0 {
		return n < 0
	}
	return c.name < other.name
}
