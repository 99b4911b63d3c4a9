// Package redact removes credentials from the texts of servers.
package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

const (
	// quoted is a value in quotes or braces, to the end of the word after it, because the value may hold
	// its quotes. Without a closing quote it is the rest of the text.
	quoted = `(?:\\*"(?:\\.|[^"\\])*"?\S*|\\*'(?:\\.|''|[^'\\])*'?\S*|` + "`[^`]*`?\\S*" + `|\{[^}]*\}?\S*)`

	// secretName is the end of the name of a field that holds a credential.
	secretName = `(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|jwt|psk|dsn|sharedaccesssignature|credentials?|sig|signature|session|connection[_-]?string|x-amz-[a-z-]+|` +
		`(?:api|access|account|shared|private|primary|secondary|secret|auth|encryption|master|signing|storage|sas|license|subscription|function|host)[_-]?key)` +
		`(?:s|[0-9]+|[_-]?(?:value|key|id|text|hash|base64|data))?`

	secretField = secretName + `\\*["']?\s*(?:[:=]>?|>)\s*`
)

// secrets are the forms of credentials in the errors of KEDA's scalers. The credential is the group,
// or all of the match.
var secrets = compiled(
	`(?s)-----BEGIN [A-Z ]*(?:-----.*?-----END [A-Z ]*-----|.*)`,
	`(?is)(?:cookie|authorization)\\*["']?\s*[:=]\s*(.*)`,
	`(?i)\b(?:basic|bearer)\s+(\S{6,})`,
	`(?is)invalid (?:port|userinfo|url escape) (".*)`,
	`(?s)[a-zA-Z][a-zA-Z0-9+.-]*://(.*)@`,
	`[a-zA-Z][a-zA-Z0-9+.-]*://([^\s/:@\["']*:[0-9]{0,5}[^\s0-9/?#"':,;.)\]}>@]\S*)`, // cut before the @
	`(?s)([^\s:]+:\S.*)@(?:tcp|unix|udp)\(`,
	`([^\s:]+:\S*)@`,
	`(?is)`+secretField+`(`+quoted+`|\S+)`,
	`(?i)`+secretField+`([^;]*);[ \w]+=`,
	`(?is)(?:^|\s)--?[\w-]*`+secretName+`\s+(`+quoted+`|\S+)`,
	`(?is)pass(?:word|phrase)\s+(`+quoted+`)`,
	`(?i)\b(?:key|code|auth)=(\S+)`,
	`\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b`,
	`\beyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`,
	`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|pk_|rk_|npm_|dckr_pat_|hvs\.|AIza|ya29\.|SG\.|dop_v1_|shpat_)[A-Za-z0-9_.-]{8,}`,
	longWord,
)

const longWord = `\b[A-Za-z0-9+/_-]{32,}={0,2}`

func compiled(texts ...string) (patterns []*regexp.Regexp) {
	for _, text := range texts {
		patterns = append(patterns, regexp.MustCompile(text))
	}
	return patterns
}

// Text replaces what may be a credential. Each form is looked for in the whole text, so that none
// hides a part of another. Long words without spaces are taken for one, and the text between a URL and
// the last @, so that other words may be lost too. A credential is left if nothing marks it, or its
// words after the first if neither quotes nor what follows show its end.
func Text(text string) string {
	return replace(text, func(*regexp.Regexp, string) bool { return false })
}

// Answer is Text for an API server, whose long words are mostly names and paths: in lower case, with a
// dash or a slash.
func Answer(text string) string {
	return replace(text, func(form *regexp.Regexp, word string) bool {
		return form.String() == longWord && strings.ContainsAny(word, "-/") && strings.ToLower(word) == word
	})
}

// replace replaces the credentials that harmless does not let pass.
func replace(text string, harmless func(form *regexp.Regexp, word string) bool) string {
	var found [][2]int
	for _, s := range secrets {
		for _, m := range s.FindAllStringSubmatchIndex(text, -1) {
			place := [2]int(m[len(m)-2:])
			if !harmless(s, text[place[0]:place[1]]) {
				found = append(found, place)
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var b strings.Builder
	end := 0
	for i, f := range found {
		if f[1] <= end && i > 0 {
			continue
		}
		if f[0] > end || i == 0 {
			b.WriteString(text[end:f[0]] + "***")
		}
		end = f[1]
	}
	return b.String() + text[end:]
}
