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
	"text/template"
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
			fmt.Fprintf(&out, "%s %s %s\n", s.paint(colour.Good, "ok  "), r.Case.ID(), s.paint(colour.Dim, fmt.Sprintf("(%s)", r.Took.Round(time.Millisecond))))
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
	text := fmt.Sprintf("%s in %s", summary, took.Round(time.Millisecond))
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

// junit is the form of a JUnit report. Its input is a list of suites.
const junit = xml.Header + `<testsuites>
{{- range . }}
  <testsuite name="{{ .Name | xml }}" tests="{{ len .Results }}" failures="{{ .Failed }}" errors="{{ .Errors }}">
  {{- range .Results }}
    <testcase classname="{{ .Case.Suite | xml }}" name="{{ .Case.Name | xml }}" file="{{ .Case.Position.File | xml }}" line="{{ .Case.Position.Line }}"
      time="{{ printf "%.3f" .Took.Seconds }}">
    {{- with .Err }}<error message="{{ .Error | head | xml }}">{{ .Error | xml }}</error>{{ end }}
    {{- with . | failures }}<failure message="{{ . | head | xml }}">{{ . | xml }}</failure>{{ end -}}
    </testcase>
  {{- end }}
  </testsuite>
{{- end }}
</testsuites>
`

// suite has the results of a table.
type suite struct {
	Summary
	Name    string
	Results []Result
}

// JUnit returns a report in the XML format of GitLab, Jenkins and similar tools, with a test suite for each table. It
// fails if a text cannot be encoded.
func JUnit(results []Result) ([]byte, error) {
	var suites []suite
	for _, r := range results {
		if len(suites) == 0 || suites[len(suites)-1].Name != r.Case.Suite {
			suites = append(suites, suite{Name: r.Case.Suite})
		}
		last := &suites[len(suites)-1]
		last.Results = append(last.Results, r)
		last.Summary = Summarize(last.Results)
	}
	parsed := template.Must(template.New("junit").Funcs(template.FuncMap{"xml": escaped, "head": firstLine, "failures": failures}).Parse(junit))
	var out bytes.Buffer
	if err := parsed.Execute(&out, suites); err != nil {
		return nil, fmt.Errorf("writing the JUnit report: %w", err)
	}
	return out.Bytes(), nil
}

// escaped returns a text for XML, without the characters that XML cannot express.
func escaped(text string) (string, error) {
	var out strings.Builder
	err := xml.EscapeText(&out, []byte(text))
	return strings.NewReplacer("&#xA;", "\n", string(unicode.ReplacementChar), "").Replace(out.String()), err
}

// failures returns the failures of a case that was run, as Write has them.
func failures(r Result) string {
	var text strings.Builder
	for _, f := range r.AllFailures() {
		Style{}.failure(&text, f)
	}
	return strings.TrimSpace(text.String())
}
