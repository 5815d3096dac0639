// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Elements of the JUnit report for GitLab, Jenkins and others.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Tests   int          `xml:"tests,attr"`
		Fails   int          `xml:"failures,attr"`
		Errors  int          `xml:"errors,attr"`
		Time    string       `xml:"time,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name    string      `xml:"name,attr"`
		Tests   int         `xml:"tests,attr"`
		Fails   int         `xml:"failures,attr"`
		Errors  int         `xml:"errors,attr"`
		Skipped int         `xml:"skipped,attr"`
		Time    string      `xml:"time,attr"`
		Cases   []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	junitSkipped struct{}
)

// JUnit returns a report in the XML format of GitLab, Jenkins and similar tools.
func JUnit(results []Result, took time.Duration) ([]byte, error) {
	all := junitSuites{Name: "graft test", Time: seconds(took)}
	for _, of := range suites(results) {
		suite := junitSuite{Name: plain(of[0].Case.Suite)}
		var spent time.Duration
		for _, r := range of {
			c := r.junit()
			suite.Cases, spent = append(suite.Cases, c), spent+r.Took
			suite.Tests++
			suite.Fails += count(c.Failure != nil)
			suite.Errors += count(c.Error != nil)
			suite.Skipped += count(c.Skipped != nil)
		}
		suite.Time = seconds(spent)
		all.Tests, all.Fails, all.Errors = all.Tests+suite.Tests, all.Fails+suite.Fails, all.Errors+suite.Errors
		all.Suites = append(all.Suites, suite)
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	encoder := xml.NewEncoder(&out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return nil, fmt.Errorf("writing the JUnit report: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (r *Result) junit() junitCase {
	c := junitCase{Class: plain(r.Case.Suite), Name: plain(r.Case.Name), File: r.Case.Position.File, Line: r.Case.Position.Line, Time: seconds(r.Took)}
	switch {
	case !r.Ran:
		c.Skipped = &junitSkipped{}
	case r.Err != nil:
		c.Error = &junitProblem{Message: plain(firstLine(r.Err.Error())), Type: "error", Text: plain(r.Err.Error())}
	case !r.OK():
		var text strings.Builder
		failures := r.AllFailures()
		for _, f := range failures {
			Style{}.failure(&text, f)
		}
		c.Failure = &junitProblem{Message: plain(failures[0].Summary()), Type: "failure", Text: plain("\n" + text.String())}
	}
	return c
}

// Summary returns the failure in one line.
func (f Failure) Summary() string {
	var parts []string
	for _, part := range []string{few(f.Subject), f.Path, firstLine(f.Message)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if f.Want != "" || f.Got != "" {
		text += fmt.Sprintf(": want %s, got %s", firstLine(f.Want), firstLine(f.Got))
	}
	return text
}

// plain returns a text without the control characters that XML cannot express.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
