package cluster

import "strings"

// ConditionMessage cuts the message to the length that the API server accepts in a
// condition.
func ConditionMessage(message string) string { return cut(message, 32<<10) }

// EventMessage is the same for an event.
func EventMessage(message string) string { return cut(message, 1024) }

// cut returns at most n bytes of s.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(dots)], "") + dots
}
