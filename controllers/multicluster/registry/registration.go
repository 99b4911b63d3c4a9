package registry

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/field"
)

const registrationSuffix = ".registration"

// A Registration holds what an administrator of the hub cluster allows a member. It is JSON
// in the members' Secret, under the member's name and .registration. The zero value allows
// no other namespace, and has the default bounds.
type Registration struct {
	// Allow has the pairs of namespaces for targetNamespace. A namespace may always use the
	// namespace of its own name.
	Allow []Allowance `json:"allow,omitempty"`
	// Namespaces are the namespaces of the member for which the hub has permissions; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// UID is the UID of the member's namespace kube-system, which setup-member stores. A member with
	// another UID is unreachable. If it is empty, the UID of the first contact counts.
	UID string `json:"uid,omitempty"`
	// Registered decides which of two members with the same UID is older, and used.
	Registered time.Time `json:"registered,omitzero"`
	// MaxBytes is the most bytes of an answer of the member's API server. A member that exceeds it is
	// unreachable. 0 means the default of member.Options.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// An Allowance lets the objects of a namespace of the hub cluster act in a namespace of the
// member.
type Allowance struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Allows reports whether objects of the hub's namespace may act in the member's.
func (r *Registration) Allows(a Allowance) bool {
	return a.From == a.To || slices.Contains(r.Allow, a)
}

// Serves reports whether the hub has permissions in the namespace of the member.
func (r *Registration) Serves(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// parseRegistration reads a registration. An error has every problem.
func parseRegistration(data []byte) (r Registration, err error) {
	var problems field.Errors
	if len(data) > 0 {
		problems.Join("registration", errors.Join(field.Decoder{}.Decode(data, &r)))
		if err := problems.Err(); err != nil {
			return Registration{}, err
		}
	}
	problems.Check(r.Namespaces == nil || len(r.Namespaces) > 0, "registration.namespaces", "[]", "at least one namespace, or leave it out for all")
	for i, n := range r.Namespaces {
		path := fmt.Sprintf("registration.namespaces[%d]", i)
		problems.Check(len(validation.IsDNS1123Label(n)) == 0, path, n, "the name of a namespace")
		problems.Check(!slices.Contains(r.Namespaces[:i], n), path, n, "each namespace once")
	}
	for i, a := range r.Allow {
		for _, n := range []struct{ path, name string }{{"from", a.From}, {"to", a.To}} {
			problems.Check(len(validation.IsDNS1123Label(n.name)) == 0, fmt.Sprintf("registration.allow[%d].%s", i, n.path), n.name, "the name of a namespace")
		}
	}
	problems.Check(len(validation.IsValidLabelValue(r.UID)) == 0, "registration.uid", r.UID, "the UID of the member's namespace kube-system")
	problems.AtLeast("registration.maxBytes", r.MaxBytes, 0)
	if err := problems.Err(); err != nil {
		return Registration{}, err
	}
	return r, nil
}

// Key returns the parts that connect a member anew when they change.
func (r *Registration) Key() string {
	return fmt.Sprint(r.Namespaces, r.UID, r.Registered, r.MaxBytes)
}
