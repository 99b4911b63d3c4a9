package cluster

// ConditionMessage is the message without what the API server would refuse in a
// condition for its length.
func ConditionMessage(message string) string { return cut(message, 32<<10) }

// EventMessage is the same for an event.
func EventMessage(message string) string { return cut(message, 1024) }

// cut is s without what is over n bytes.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	end := n - len(dots)
	for end > 0 && s[end]&0xC0 == 0x80 { // not within a character
		end--
	}
	return s[:end] + dots
}
