// Package aggregate compares package keda with releases that combine scalers in
// a package of their own, which needs every scaler that KEDA has: 2.8, and 2.7 by
// releases/2.7.mod. It is a module apart from conformance, because it needs
// Kubernetes packages that newer releases no longer have, and for the same reason
// it is no part of the workspace.
package aggregate
