// Package registry knows the member clusters: a Secret of the home cluster has a
// kubeconfig for each.
//
//	Setup           a ServiceAccount on the member, with least privilege -> its kubeconfig
//	Registry.Add    kubeconfig -> the Secret
//	Registry.Watch  the Secret -> who reads it, whenever it changes; nothing is restarted
//
// registry.go has the names of all objects, on the home cluster and on the members.
//
// The Secret's keys are the members' names with .kubeconfig behind. Who may write it
// can send the controller anywhere, but not make it run a program or read its files:
// a kubeconfig that names either is refused before that is looked at.
//
// A member's credentials stay at its host. A redirect to another host is not followed.
package registry
