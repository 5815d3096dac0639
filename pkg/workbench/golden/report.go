// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
)

// Summary counts cases.
type Summary struct {
	// Errors could not be run.
	Passed, Failed, Errors int
}

// OK reports whether all cases were run and pass.
func (s Summary) OK() bool { return s.Failed+s.Errors == 0 }

// Summarize counts the cases.
func Summarize(results []Result) Summary {
	var s Summary
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			s.Errors++
		case !r.OK():
			s.Failed++
		default:
			s.Passed++
		}
	}
	return s
}

// String returns the counts as text.
func (s Summary) String() string {
	text := fmt.Sprintf("%d passed", s.Passed)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	if s.Errors > 0 {
		text += fmt.Sprintf(", %d could not be run", s.Errors)
	}
	return text
}

// Style says how results are written.
type Style struct {
	// Verbose also writes the cases that pass, with the time that they took.
	Verbose bool
	// Colour writes ANSI colours.
	Colour bool
}

func (s Style) paint(t colour.Tone, text string) string { return t.Paint(s.Colour, text) }

// Write writes the cases that fail with everything that is wrong, and a summary.
func (s Style) Write(w io.Writer, results []Result, took time.Duration) error {
	var out strings.Builder
	same := sameFailures(results)
	for i := range results {
		r := &results[i]
		if r.OK() && s.Verbose {
			fmt.Fprintf(&out, "%s %s %s\n", s.paint(colour.Good, "ok  "), r.Case.ID(), s.paint(colour.Dim, "("+short(r.Took)+")"))
		}
		if same[i] == nil {
			continue
		}
		fmt.Fprintf(&out, "%s %s\n", s.paint(colour.Bad, "FAIL"), s.paint(colour.Title, r.Case.ID()))
		if r.Err != nil {
			out.WriteString(indent("    ", r.Err.Error()))
		}
		for _, failure := range r.AllFailures() {
			s.failure(&out, failure)
		}
		if others := same[i][1:]; len(others) > 0 {
			fmt.Fprintf(&out, "    the same in %s\n", strings.Join(others, "; "))
		}
	}
	summary := Summarize(results)
	text := fmt.Sprintf("%s in %s", summary, short(took))
	if out.Len() > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(s.paint(map[bool]colour.Tone{true: colour.Good, false: colour.Bad}[summary.OK()], text) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// sameFailures groups results with the same failures, which are cells of one case with different shoots or versions, and
// cases with the same error, such as that of their profile. It maps the index of the first one to the names of all.
func sameFailures(results []Result) map[int][]string {
	first, names := map[string]int{}, map[int][]string{}
	for i := range results {
		r := &results[i]
		if r.OK() {
			continue
		}
		key, name := fmt.Sprintf("%s|%v", r.Case.Suite, r.Case.Position), r.Case.Name
		if r.Err != nil {
			key, name = r.Err.Error(), r.Case.ID()
		}
		for _, failure := range r.AllFailures() {
			failure.Subject = ""
			key += fmt.Sprintf("|%+v", failure)
		}
		if _, known := first[key]; !known {
			first[key] = i
		}
		names[first[key]] = append(names[first[key]], name)
	}
	return names
}

// failure writes the position of the expectation, followed by the expected and the actual value.
func (s Style) failure(out *strings.Builder, f Failure) {
	head := f.At.String() + ":"
	for _, part := range []string{f.Subject, f.Path} {
		if part != "" {
			head += " " + part + ":"
		}
	}
	fmt.Fprintf(out, "    %s\n", strings.TrimSuffix(strings.TrimRight(head+" "+firstLine(f.Message), " "), ":"))
	if _, rest, more := strings.Cut(f.Message, "\n"); more {
		out.WriteString(indent("        ", rest))
	}
	if f.Want != "" || f.Got != "" {
		out.WriteString(s.value("want", colour.Good, f.Want) + s.value("got ", colour.Bad, f.Got))
	}
	for _, by := range f.By {
		fmt.Fprintf(out, "        by   %s\n", by)
	}
	for line := range strings.Lines(f.Diff) {
		of := map[byte]colour.Tone{'-': colour.Good, '+': colour.Bad}[line[0]]
		if line = strings.TrimRight(line, "\n"); of != "" {
			line = s.paint(of, line)
		}
		out.WriteString(strings.TrimRight("        "+line, " ") + "\n")
	}
}

func (s Style) value(what string, of colour.Tone, text string) string {
	if !strings.Contains(text, "\n") {
		return "        " + what + " " + s.paint(of, text) + "\n"
	}
	return "        " + strings.TrimRight(what, " ") + "\n" + indent("          ", text)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func indent(by, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(by+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	return out.String()
}

// short returns a time in milliseconds or seconds.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Elements of the JUnit report for GitLab, Jenkins and others.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// JUnit returns a report in the XML format of GitLab, Jenkins and similar tools, with a test suite for each table. It
// fails if a text cannot be encoded.
func JUnit(results []Result) ([]byte, error) {
	var suites []junitSuite
	for i := range results {
		c := results[i].junit()
		last := len(suites) - 1
		if last < 0 || suites[last].Name != c.Class {
			suites = append(suites, junitSuite{Name: c.Class})
			last++
		}
		suite := &suites[last]
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Error != nil {
			suite.Errors++
		}
	}
	text, err := xml.MarshalIndent(suites, "  ", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the JUnit report: %w", err)
	}
	text = bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == unicode.ReplacementChar { // XML cannot express them
			return -1
		}
		return r
	}, text)
	return fmt.Appendf(nil, "%s<testsuites>\n%s\n</testsuites>\n", xml.Header, text), nil
}

func (r *Result) junit() junitCase {
	c := junitCase{
		Class: r.Case.Suite, Name: r.Case.Name, File: r.Case.Position.File, Line: r.Case.Position.Line, Time: fmt.Sprintf("%.3f", r.Took.Seconds()),
	}
	var text strings.Builder
	for _, f := range r.AllFailures() {
		Style{}.failure(&text, f)
	}
	switch {
	case r.Err != nil:
		c.Error = &junitProblem{firstLine(r.Err.Error()), r.Err.Error()}
	case text.Len() > 0:
		c.Failure = &junitProblem{firstLine(strings.TrimSpace(text.String())), "\n" + text.String()}
	}
	return c
}
