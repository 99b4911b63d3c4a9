package lint

import (
	"io"
	"net/url"
	"path/filepath"
)

// SARIF 2.1.0, as far as it is needed.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		HelpURI              string             `json:"helpUri"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level Severity `json:"level"` // has the same names
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

// WriteSARIF writes a SARIF 2.1.0 log with all rules. File names become relative URIs.
// GitHub's code scanning resolves them from the root of the repository.
func (r *Report) WriteSARIF(w io.Writer) error {
	driver := sarifDriver{Name: "scaledjob lint", InformationURI: "https://github.com/scaledjob/scaledjob"}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{rule.ID, sarifText{rule.Doc}, rule.URL(), sarifConfiguration{rule.Severity}})
	}
	results := []sarifResult{}
	for i := range r.Findings {
		f := &r.Findings[i]
		uri := url.URL{Path: filepath.ToSlash(f.File)}
		results = append(results, sarifResult{f.Rule, index[f.Rule], f.Severity, sarifText{f.Message()},
			[]sarifLocation{{sarifPhysical{sarifArtifact{uri.String()}, sarifRegion{f.Line, f.Column}}}}})
	}
	return encode(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{{sarifTool{driver}, "unicodeCodePoints", results}},
	})
}
