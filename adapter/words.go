package adapter

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestWords bounds the API server's words in an error, in characters.
const longestWords = 300

// words returns an error's text without control characters: at most 300 characters of it. An
// answer of the API server begins with its status, such as "403 Forbidden: exceeded quota".
func words(err error) string {
	text := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, err.Error()))
	if len(text) > longestWords {
		text = append(text[:longestWords-1], '…')
	}
	var status apierrors.APIStatus
	if code := int32(0); errors.As(err, &status) {
		if code = status.Status().Code; code > 0 {
			return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(int(code)))) + ": " + string(text)
		}
	}
	return string(text)
}
