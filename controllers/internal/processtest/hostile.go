package processtest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// planted are credentials as servers repeat them.
var planted = []string{
	"https://admin:hunter2a@10.0.0.1/apis", "password=hunter2b", `{"token":"hunter2c"}`, "Authorization: Bearer hunter2d", "redis://:hunter2e@redis:6379",
	"eyJhbGciOiJSUzI1NiJ9.hunter2f.sig", "aHVudGVyMmc0Zm9ydHlDaGFyYWN0ZXJzT2ZUb2tlbg",
}

// Hostile is an answer of an API server with planted credentials, line breaks, escapes and a megabyte.
func Hostile() error {
	text := "no\x1b[31m\nlevel=ERROR msg=forged\u2028\u202e " + strings.Join(planted, " ") + strings.Repeat(" no", 1<<18)
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403, Message: text}}
}

// RequireHarmless fails if texts repeat what is planted in [Hostile]: each is an event, a log, or a status in JSON,
// of which each string counts. Some must have its code.
func RequireHarmless(t testing.TB, texts ...string) {
	t.Helper()
	require.Contains(t, strings.Join(texts, "\n"), "403 Forbidden", "the answer is there")
	for _, text := range texts {
		var status any
		if json.Unmarshal([]byte(text), &status) == nil {
			requireStrings(t, status)
			continue
		}
		requireText(t, text)
	}
}

func requireStrings(t testing.TB, value any) {
	switch v := value.(type) {
	case string:
		requireText(t, v)
	case []any:
		for _, element := range v {
			requireStrings(t, element)
		}
	case map[string]any:
		for _, field := range v {
			requireStrings(t, field)
		}
	}
}

func requireText(t testing.TB, text string) {
	require.NotContains(t, strings.ToLower(text), "hunter2")
	require.NotContains(t, text, "aHVudGVyMmc")
	for line := range strings.Lines(text) {
		require.False(t, strings.HasPrefix(line, "level=ERROR msg=forged"), text)
		require.Less(t, len([]rune(line)), 600, line)
		require.Equal(t, -1, strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
	}
}
