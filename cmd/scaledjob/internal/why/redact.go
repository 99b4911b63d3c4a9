package why

import "regexp"

// secrets are the forms of credentials in the errors of KEDA's scalers.
var secrets = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`-----BEGIN [A-Z ]*(?:-----.*?-----END [A-Z ]*-----|.*)`), "***"},
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/"'@]*@`), "$1***@"},
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:basic|bearer|apikey|token|sharedaccesssignature)?)\s*[^\s"',;]+`), "$1 ***"},
	{regexp.MustCompile(`(?i)\b(basic|bearer)\s+[A-Za-z0-9+/=._~-]{8,}`), "$1 ***"},
	{regexp.MustCompile(`(?i)([a-z_.-]*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|shared[_-]?key|private[_-]?key|` +
		`sharedaccesssignature|credentials?|sig|signature|x-amz-[a-z-]+)["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s"'&,;)}]+)`), "$1***"},
	{regexp.MustCompile(`\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b`), "***"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`), "***"},
	{regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|pk_|rk_|npm_|dckr_pat_|hvs\.|AIza|ya29\.|SG\.|dop_v1_|shpat_)[A-Za-z0-9_.-]{8,}`), "***"},
	{regexp.MustCompile(`\b[A-Za-z0-9+/_-]{32,}={0,2}`), "***"},
}

// Redact replaces what may be a credential. Long words without spaces are taken for one, so that
// a long name may be lost too.
func Redact(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return text
}
