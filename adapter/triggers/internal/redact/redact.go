// Package redact removes credentials from texts that somebody else has written.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	mark  = "[redacted]"
	short = 6    // a secret with fewer characters replaces the whole text
	most  = 1024 // bytes of a text
	// longest and longestSum are the most bytes of a text that is searched, and of the secrets that are searched
	// for: a tenant chooses both.
	longest, longestSum = 4 << 10, 32 << 10
)

// Secrets are values that no text may contain. The zero value has none.
type Secrets struct {
	whole map[string]bool // the values; true for credentials, of which short pieces count too
	forms []string        // lower case, long before short; nil until they are needed
	brief []string
	sum   int // bytes of the values
}

// Add adds a value that the reader of Kubernetes served, or that was resolved for a parameter.
// Its parts count too: the user, password, path segments, query, fragment and host of a URL, in
// whatever way a parser divides it.
func (s *Secrets) Add(value string) { s.add(value, true) }

// AddPlain adds a value that is probably no credential: pieces of fewer than six characters are
// not secret.
func (s *Secrets) AddPlain(value string) {
	if len(value) >= short {
		s.add(value, false)
	}
}

func (s *Secrets) add(value string, credential bool) {
	value = strings.TrimSpace(value)
	if was, known := s.whole[value]; value == "" || known && (was || !credential) {
		return
	}
	if s.whole == nil {
		s.whole = map[string]bool{}
	}
	if _, known := s.whole[value]; !known {
		s.sum += len(value)
	}
	s.whole[value] = credential
	s.forms, s.brief = nil, nil
}

var (
	delimiters = regexp.MustCompile(`[\s/?#@%:&=;,\\"'<>{}\[\]()|]+`)
	escapes    = regexp.MustCompile(`(?i)(%|\\x|\\u00)[0-9a-f]{2}`)
	encoded    = regexp.MustCompile(`[0-9A-Za-z+/_-]{8,}`)
	escape     = regexp.MustCompile(`^(?i:[0-9a-f]{2})`)
)

// parts returns the pieces of a value that some parser may show: pieces of credentials at any
// length, the others if they are long enough to tell something.
func parts(value string) (all []string) {
	keep := func(text string, least int) {
		for _, p := range delimiters.Split(text, -1) {
			if len(p) >= least {
				all = append(all, p, escape.ReplaceAllString(p, ""))
			}
		}
	}
	_, rest, isURL := strings.Cut(value, "://")
	if !isURL {
		// A password, or several lines of something.
		if len(value) <= 256 {
			keep(value, 1)
		} else {
			keep(value, short)
		}
		return all
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		keep(rest[:at], 1)
		rest = rest[at+1:]
	}
	keep(rest, short)
	return all
}

func (s *Secrets) build() {
	if s.forms != nil {
		return
	}
	forms, brief := map[string]bool{}, map[string]bool{}
	add := func(text string) {
		text = strings.ToLower(text)
		switch {
		case len(text) >= short:
			forms[text] = true
		case text != "":
			brief[text] = true
		}
	}
	for value, credential := range s.whole {
		for _, text := range append(parts(value), value) {
			if len(text) >= short || credential {
				add(text)
			}
			if len(text) < short {
				continue
			}
			quoted := strconv.Quote(text)
			add(quoted[1 : len(quoted)-1])
			if j, err := json.Marshal(text); err == nil {
				add(string(j[1 : len(j)-1]))
			}
			add(url.QueryEscape(text))
			add(url.PathEscape(text))
			add((&url.URL{Path: text}).EscapedPath())
			add(url.UserPassword("", text).String()[1:])
			if plain, err := url.QueryUnescape(text); err == nil {
				add(plain)
			}
			if plain, err := url.PathUnescape(text); err == nil {
				add(plain)
			}
			add(printable(text))
			add(strings.Trim(fmt.Sprint([]byte(text)), "[]"))
		}
	}
	s.forms, s.brief = make([]string, 0, len(forms)), nil
	for text := range forms {
		s.forms = append(s.forms, text)
	}
	for text := range brief {
		s.brief = append(s.brief, text)
	}
	slices.SortFunc(s.forms, func(a, b string) int { return len(b) - len(a) })
}

// Text returns text without the secrets. A text that contains a secret of fewer than six
// characters, as a word, is replaced by what [Withheld] returns. So is a long text, and each if
// the secrets are long.
func (s *Secrets) Text(text string) string {
	if len(s.whole) == 0 {
		return Line(text)
	}
	if s.sum > longestSum || len(text) > longest {
		return Withheld(text)
	}
	s.build()
	text = printable(text)
	kept := text
	lower := strings.ToLower(text)
	for _, form := range s.forms {
		if strings.Contains(lower, form) {
			text = replace(text, form)
			lower = strings.ToLower(text)
		}
	}
	for i, reading := range readings(text) {
		reading = strings.ToLower(reading)
		if i < 2 && slices.ContainsFunc(s.brief, func(word string) bool { return hasWord(reading, word) }) ||
			reading != lower && slices.ContainsFunc(s.forms, func(form string) bool { return strings.Contains(reading, form) }) {
			return Withheld(kept)
		}
	}
	return cut(text)
}

// readings returns a text, the text without escapes, and what else a reader may see in it: the text
// without space, and what is encoded.
func readings(text string) []string {
	unescaped := escapes.ReplaceAllStringFunc(text, func(e string) string {
		plain, _ := hex.DecodeString(e[len(e)-2:]) // e is valid
		return string(plain)
	})
	all := []string{text, unescaped, strings.Join(strings.Fields(text), "")}
	for _, word := range encoded.FindAllString(text, -1) {
		plain, err := hex.DecodeString(word)
		if err != nil {
			word = strings.NewReplacer("-", "+", "_", "/").Replace(word)
			plain, _ = base64.RawStdEncoding.DecodeString(word) // up to what is none
		}
		all = append(all, string(plain))
	}
	return all
}

// replace replaces form, which is in lower case, in any case.
func replace(text, form string) string {
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // letters whose lower case has another length
		text = lower
	}
	var b strings.Builder
	for {
		i := strings.Index(lower, form)
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		b.WriteString(mark)
		text, lower = text[i+len(form):], lower[i+len(form):]
	}
}

func hasWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, after := i == 0 || !letter(text[i-1]) || !letter(word[0]), i+len(word) == len(text) || !letter(text[i+len(word)]) || !letter(word[len(word)-1])
		if before && after {
			return true
		}
		from = i + 1
	}
}

func letter(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// known are phrases that say what went wrong without saying anything about a value.
var known = []string{
	"connection refused", "connection reset", "no such host", "i/o timeout", "deadline exceeded", "operation not permitted",
	"permission denied", "unauthorized", "forbidden", "not found", "authentication", "certificate", "no route to host", "eof", "invalid port", "parse",
}

// Withheld returns a text that replaces text, with the known phrases that text contains.
func Withheld(text string) string {
	text = text[:min(len(text), 64<<10)]
	lower := strings.ToLower(text)
	var about []string
	for _, phrase := range known {
		if strings.Contains(lower, phrase) {
			about = append(about, phrase)
		}
	}
	if about == nil {
		return "the text of the error is not shown, because it may contain a credential"
	}
	return "the text of the error is not shown, because it may contain a credential; it mentions: " + strings.Join(about, ", ")
}

// Line returns text in one line, printable and bounded.
func Line(text string) string { return cut(printable(text)) }

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

func cut(text string) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
