// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"encoding/json"
	"io"
	"time"
)

// jsonReport is the report for programs.
type jsonReport struct {
	Summary  Summary       `json:"summary"`
	Seconds  float64       `json:"seconds"`
	Cases    []jsonCase    `json:"cases"`
	Coverage *jsonCoverage `json:"coverage,omitempty"`
}

type jsonCase struct {
	Suite    string        `json:"suite"`
	Name     string        `json:"name"`
	At       string        `json:"at"`
	Result   string        `json:"result"`
	Seconds  float64       `json:"seconds"`
	Error    string        `json:"error,omitempty"`
	Failures []jsonFailure `json:"failures,omitempty"`
}

type jsonFailure struct {
	At string `json:"at"`
	Failure
}

type jsonCoverage struct {
	Percent float64 `json:"percent"`
	Coverage
}

// WriteJSON writes the results for programs; coverage may be nil.
func WriteJSON(w io.Writer, results []Result, coverage *Coverage, took time.Duration) error {
	report := jsonReport{Summary: Summarize(results), Seconds: took.Seconds(), Cases: []jsonCase{}}
	for i := range results {
		report.Cases = append(report.Cases, results[i].json())
	}
	if coverage != nil {
		report.Coverage = &jsonCoverage{Percent: coverage.Percent(), Coverage: *coverage}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

func (r *Result) json() jsonCase {
	c := jsonCase{
		Suite: r.Case.Suite, Name: r.Case.Name, At: r.Case.Position.String(), Result: "passed", Seconds: r.Took.Seconds(),
	}
	switch {
	case !r.Ran:
		c.Result = "not run"
	case r.Err != nil:
		c.Result, c.Error = "error", r.Err.Error()
	case !r.OK():
		c.Result = "failed"
	}
	for _, f := range r.AllFailures() {
		c.Failures = append(c.Failures, jsonFailure{At: f.At.String(), Failure: f})
	}
	return c
}
