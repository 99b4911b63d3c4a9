package adapter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/rollout"
)

func refused(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

// The error of a create has the status and the words of the API server, which may be a
// tenant's: they are cut and have no control characters.
func TestWords(t *testing.T) {
	for want, err := range map[string]error{
		"created 2 of 10 Jobs: 429 Too Many Requests: chaos":            refused(429, "chaos"),
		"created 2 of 10 Jobs: 403 Forbidden: the name exists: denied":  fmt.Errorf("the name exists: %w", refused(403, "denied")),
		"created 2 of 10 Jobs: no route":                                errors.New("no route"),
		"created 2 of 10 Jobs: 500 Internal Server Error: a b [31m c d": refused(500, "a\nb\x1b[31m\u202ec\xffd"),
		"created 2 of 10 Jobs: 799: odd":                                refused(799, "odd"),
	} {
		require.Equal(t, want, (&CreateError{Created: 2, Wanted: 10, Err: err}).Error())
	}
	long := request.ErrorText(refused(422, strings.Repeat("é", 10000)))
	require.Equal(t, request.Longest, utf8.RuneCountInString(long))
}

// Many deletes that are refused with long words make one short error.
func TestWordsOfManyDeletes(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(20)
	require.NoError(t, err)
	w.catchUp(t)
	target.Rollout, target.Revision.Generation = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, 2
	require.NoError(t, w.Track(target))
	s.before = failing("delete", 1, refused(403, "\x1b[31m"+strings.Repeat("no ", 10000)))
	_, err = w.poll(0)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, request.MaxProblems+1)
	require.Equal(t, "and 12 more requests failed", lines[request.MaxProblems])
	require.Contains(t, lines[0], ": 403 Forbidden:  [31mno no")
	require.Less(t, len(err.Error()), 4000)
}
