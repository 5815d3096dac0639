// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The parts of SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0) that a report uses.
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
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               source.Rule  `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		FullDescription  sarifMessage `json:"fullDescription"`
		HelpURI          string       `json:"helpUri"`
		Help             sarifMessage `json:"help"`
		Default          sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID    source.Rule     `json:"ruleId,omitempty"`
		RuleIndex *int            `json:"ruleIndex,omitempty"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifFix struct {
		Description sarifMessage  `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion   `json:"deletedRegion"`
		Inserted *sarifMessage `json:"insertedContent,omitempty"`
	}
)

// sarifSchema is the address of the schema of SARIF 2.1.0.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

func (r *Report) writeSARIF(w io.Writer, style Style) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "graft lint", Version: style.Version, InformationURI: home, Rules: []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	rules := r.rules()
	for _, rule := range rules {
		if page := PageOf(rule); page != nil {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
				ID: rule, ShortDescription: sarifMessage{Text: page.Summary}, FullDescription: sarifMessage{Text: page.why()}, HelpURI: page.URL(),
				Help: sarifMessage{Text: page.Text(), Markdown: page.help()}, Default: sarifLevel{page.Severity()},
			})
		}
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, r.result(f, run.Tool.Driver.Rules))
	}
	return writeIndented(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func (r *Report) result(f source.Finding, rules []sarifRule) sarifResult {
	result := sarifResult{RuleID: f.Rule, Level: f.Severity.String(), Message: sarifMessage{Text: sentence(f)}}
	if i := slices.IndexFunc(rules, func(rule sarifRule) bool { return rule.ID == f.Rule }); i >= 0 {
		result.RuleIndex = &i
	}
	artifact := sarifArtifact{uriOf(f.File)}
	location := sarifLocation{Physical: sarifPhysical{Artifact: artifact}}
	if f.Path != "" {
		location.Logical = []sarifLogical{{f.Path, "member"}}
	}
	t := r.texts[f.File]
	if t != nil && f.Line > 0 {
		begin, end := t.span(f.Position)
		location.Physical.Region = &sarifRegion{StartLine: f.Line, StartColumn: begin, EndLine: f.Line, EndColumn: end}
	}
	result.Locations = []sarifLocation{location}
	if f.Fix == nil || t == nil {
		return result
	}
	if e, ok := t.resolve(*f.Fix); ok {
		from, to := t.position(f.File, e.begin), t.position(f.File, e.end)
		replacement := sarifReplacement{Deleted: sarifRegion{from.Line, from.Column, to.Line, to.Column}}
		if e.text != "" {
			replacement.Inserted = &sarifMessage{Text: e.text}
		}
		result.Fixes = []sarifFix{{sarifMessage{Text: describe(f.Fix)}, []sarifChange{{artifact, []sarifReplacement{replacement}}}}}
	}
	return result
}

// uriOf returns a path as a URI reference: relative to the working directory of graft, or with the scheme file.
func uriOf(name string) string {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		return (&url.URL{Scheme: "file", Path: name}).String()
	}
	return (&url.URL{Path: path.Clean(name)}).String()
}
