package lint

import (
	"io"
	"net/url"
	"path/filepath"
)

// WriteSARIF writes a SARIF 2.1.0 log with all rules. File names become relative URIs.
// GitHub's code scanning resolves them from the root of the repository.
func (r *Report) WriteSARIF(w io.Writer) error {
	type object = map[string]any
	index, rules, results := map[string]int{}, []object{}, []object{}
	for i, rule := range Rules() {
		index[rule.ID] = i
		rules = append(rules, object{"id": rule.ID, "shortDescription": object{"text": rule.Doc}, "helpUri": rule.URL(),
			"defaultConfiguration": object{"level": rule.Severity}}) // SARIF has the same names of severities
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		uri := url.URL{Path: filepath.ToSlash(f.File)}
		location := object{"artifactLocation": object{"uri": uri.String()}, "region": object{"startLine": f.Line, "startColumn": f.Column}}
		results = append(results, object{"ruleId": f.Rule, "ruleIndex": index[f.Rule], "level": f.Severity,
			"message": object{"text": f.Message()}, "locations": []object{{"physicalLocation": location}}})
	}
	tool := object{"driver": object{"name": "scaledjob lint", "informationUri": "https://github.com/scaledjob/scaledjob", "rules": rules}}
	return encode(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []object{{"tool": tool, "columnKind": "unicodeCodePoints", "results": results}},
	})
}
