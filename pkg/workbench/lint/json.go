// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// jsonReport is a report for programs.
type jsonReport struct {
	Findings []jsonFinding `json:"findings"`
	Summary  jsonSummary   `json:"summary"`
}

type jsonSummary struct {
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Fixable   int `json:"fixable"`
	Documents int `json:"documents"`
	Files     int `json:"files"`
}

// jsonFinding is one finding. Lines and columns count from 1, columns in characters, and the end is exclusive.
type jsonFinding struct {
	File      string      `json:"file"`
	Line      int         `json:"line,omitempty"`
	Column    int         `json:"column,omitempty"`
	EndColumn int         `json:"endColumn,omitempty"`
	Path      string      `json:"path,omitempty"`
	Message   string      `json:"message"`
	Rule      source.Rule `json:"rule,omitempty"`
	Severity  string      `json:"severity"`
	Help      string      `json:"help,omitempty"`
	Fix       string      `json:"fix,omitempty"`
}

func (r *Report) writeJSON(w io.Writer) error {
	out := jsonReport{
		Findings: []jsonFinding{},
		Summary: jsonSummary{
			Errors: r.Count(source.Error), Warnings: r.Count(source.Warning), Fixable: r.Fixable(), Documents: r.Documents, Files: r.Files,
		},
	}
	for _, f := range r.Findings {
		finding := jsonFinding{File: f.File, Line: f.Line, Path: f.Path, Message: f.Message, Rule: f.Rule, Severity: f.Severity.String()}
		if t := r.texts[f.File]; t != nil && f.Line > 0 {
			finding.Column, finding.EndColumn = t.span(f.Position)
		}
		if page := PageOf(f.Rule); page != nil {
			finding.Help = page.URL()
		}
		if f.Fix != nil {
			finding.Fix = describe(f.Fix)
		}
		out.Findings = append(out.Findings, finding)
	}
	return writeIndented(w, out)
}

func writeIndented(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
