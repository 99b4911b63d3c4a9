package adapter

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ownership is how a Job says whose it is. The zero value is [Controller]. It can
// be compared with ==.
type Ownership struct {
	// Home is the value of [LabelHome]. Where it is not "", the owner is in another
	// cluster, of that name, and a Job belongs to it that has this label, the owner's
	// UID in [LabelOwner], and no controller.
	//
	// An owner reference would not do there: the object does not exist in the Job's
	// cluster, and the garbage collector would delete the Job.
	Home string
}

// Controller is ownership by the controller reference.
var Controller Ownership

// Of returns the UID of the object's owner, if it has one.
func (o Ownership) Of(object metav1.Object) (types.UID, bool) {
	c := metav1.GetControllerOfNoCopy(object)
	if o == Controller {
		if c == nil {
			return "", false
		}
		return c.UID, true
	}
	labels := object.GetLabels()
	uid := labels[LabelOwner]
	return types.UID(uid), uid != "" && c == nil && labels[LabelHome] == o.Home
}

// index is the name of the index that finds what an object owns, by its UID.
func (o Ownership) index() string {
	if o == Controller {
		return "scaledjob/controller"
	}
	return "scaledjob/home/" + o.Home
}

// keys makes that index.
func (o Ownership) keys(object any) ([]string, error) {
	if a := accessor(object); a != nil {
		if uid, owned := o.Of(a); owned {
			return []string{string(uid)}, nil
		}
	}
	return nil, nil
}

// same reports whether two objects have the same owner, or none.
func (o Ownership) same(a, b any) bool {
	x, _ := o.keys(a)
	y, _ := o.keys(b)
	return slices.Equal(x, y)
}
