// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
)

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Position is a place in a file; Line and Column count from 1, and 0 means that it is not known.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String writes the position as file:line:column, without the parts that are not known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Before orders positions by file, line and column.
func (p Position) Before(q Position) bool {
	return cmp.Or(strings.Compare(p.File, q.File), p.Line-q.Line, p.Column-q.Column) < 0
}

// Finding is an error or a warning about a document, with its position.
type Finding struct {
	Position
	// Path is the field, such as controlplane.kube-apiserver[0].flags.set; empty when the document itself is meant.
	Path string
	// Message describes the mistake and, if known, its correction.
	Message string
	// Rule is the check that found it, and Severity how bad it is.
	Rule     LintRule
	Severity Severity
	// Partial means that the finding concerns a part of the path's value, such as an unknown key, and the rest is
	// valid.
	Partial bool
	// Meant is the known word that was probably meant by an unknown one; empty where none is near.
	Meant string
	// Fix fixes the finding; nil if there is no unambiguous fix.
	Fix *Fix
}

// Of returns the finding with a rule.
func (f Finding) Of(rule LintRule) Finding {
	f.Rule = rule
	return f
}

// InPart returns the finding with Partial set.
func (f Finding) InPart() Finding {
	f.Partial = true
	return f
}

// Warn returns the finding as a warning.
func (f Finding) Warn() Finding {
	f.Severity = Warning
	return f
}

// Error writes the finding in one line: position, field and message.
func (f Finding) Error() string {
	if f.Path == "" {
		return f.Position.String() + ": " + f.Message
	}
	return f.Position.String() + ": " + f.Path + ": " + f.Message
}

// Findings lists all mistakes in the order of the files.
type Findings []Finding

// Error returns the findings as text, one in each line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, finding := range f {
		lines[i] = finding.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the findings as an error, sorted by position, or nil if there are none.
func (f Findings) Err() error {
	if len(f) == 0 {
		return nil
	}
	f.Sort()
	return f
}

// Add adds a finding about a place.
func (f *Findings) Add(p Place, rule LintRule, format string, arguments ...any) {
	*f = append(*f, p.FindingOf(rule, format, arguments...))
}

// Sort orders the findings by position; findings at one place keep their order.
func (f Findings) Sort() {
	sort.SliceStable(f, func(i, j int) bool { return f[i].Before(f[j].Position) })
}

// Of sets the rule of all findings without one.
func (f Findings) Of(rule LintRule) Findings {
	for i := range f {
		if f[i].Rule == "" {
			f[i].Rule = rule
		}
	}
	return f
}

// Errors returns the findings without warnings.
func (f Findings) Errors() Findings {
	return slices.DeleteFunc(slices.Clone(f), func(finding Finding) bool { return finding.Severity != Error })
}

// LintRule is the id of a check: a kind of mistake, not one of its messages. Each has a page in docs/lint.
type LintRule string

// Rules of findings in all documents. Other packages define the rules of their own checks.
const (
	// NotYAML is a file that cannot be read as YAML, or is too large to be read.
	NotYAML LintRule = "not-yaml"
	// Anchor is an anchor, an alias or a merge.
	Anchor LintRule = "anchor"
	// DuplicateKey is a duplicate key of a mapping.
	DuplicateKey LintRule = "duplicate-key"
	// UnknownField is a field that does not exist, or does not exist there.
	UnknownField LintRule = "unknown-field"
	// WrongType is a value of another type than its field has.
	WrongType LintRule = "wrong-type"
	// WrongValue is a value of the right type that its field cannot have.
	WrongValue LintRule = "wrong-value"
	// InvalidName is a name that is not written as such names are.
	InvalidName LintRule = "invalid-name"
	// MissingField is a field without which the document means nothing.
	MissingField LintRule = "missing-field"
	// ExclusiveFields means that exactly one of several fields is required.
	ExclusiveFields LintRule = "exclusive-fields"
	// MissingFile is a missing or unreadable file that a document uses.
	MissingFile LintRule = "missing-file"
	// UnknownKind is a document of a kind that is not known.
	UnknownKind LintRule = "unknown-kind"
	// NoDocument is an empty file, or one with too many documents.
	NoDocument LintRule = "no-document"
	// DuplicateName is a name that two things have.
	DuplicateName LintRule = "duplicate-name"
	// NeverApplies is a condition that never holds.
	NeverApplies LintRule = "never-applies"
	// AlwaysTrue is a condition that always holds.
	AlwaysTrue LintRule = "always-true"
	// Unused is something with a name that nothing names.
	Unused LintRule = "unused"
)

// Severity is the severity of a finding.
type Severity int

const (
	// Error is a finding with which the document cannot be used.
	Error Severity = iota
	// Warning is a finding about a usable document that probably differs from its author's intention.
	Warning
)

// String returns the name of the severity.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Beyond returns the findings that are not consequences of earlier ones in the same document: it omits those inside of
// a refused value, those about a field that is missing because it is misspelt, and all missing fields next to an
// unknown one.
func (f Findings) Beyond(earlier Findings) Findings {
	var beyond Findings
	for _, finding := range f {
		if !slices.ContainsFunc(earlier, finding.follows) {
			beyond = append(beyond, finding)
		}
	}
	return beyond
}

// follows reports whether the finding is a consequence of an earlier one.
func (f Finding) follows(earlier Finding) bool {
	switch {
	case f.File != earlier.File || earlier.Severity != Error:
		return false
	case earlier.Partial:
		misspelt := earlier.Meant != "" && f.Path == join(earlier.Path, earlier.Meant)
		return f.Rule == MissingField && (misspelt || earlier.Rule == UnknownField && f.Path == earlier.Path)
	default:
		return Within(f.Path, earlier.Path)
	}
}

// Within reports whether a path equals or extends another one; no path extends the empty path.
func Within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Suggest returns the hint ` (did you mean "x"?)` for the most similar known word, or the only one with this prefix, or
// "".
func Suggest(word string, known []string) string {
	if best := near(word, known); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// near returns the most similar known word, or the only one with this prefix, or "".
func near(word string, known []string) string {
	if best, _, _ := nearest(word, known); best != "" {
		return best
	}
	return wordWithPrefix(word, known)
}

// wordWithPrefix returns the only known word with this prefix, or "".
func wordWithPrefix(word string, known []string) string {
	const least = 3
	longer := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(known))), func(candidate string) bool {
		return len(word) < least || !strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(word))
	})
	if len(longer) != 1 {
		return ""
	}
	return longer[0]
}

// ListKnown lists the existing names, up to a limit.
func ListKnown(known []string) string {
	const most = 10
	switch {
	case len(known) == 0:
		return "there are none"
	case len(known) > most:
		return fmt.Sprintf("there are %s and %d more", strings.Join(known[:most], ", "), len(known)-most)
	}
	return "there are " + strings.Join(known, ", ")
}

// Nearest returns the known word that was certainly meant: it differs in at most two letters and less than half of the
// word, and all others differ in at least two more. One that differs only in case is always meant. It returns false if
// there is none.
func Nearest(word string, known []string) (string, bool) {
	best, distance, next := nearest(word, known)
	if best != "" && distance == 0 {
		return best, next > 0
	}
	return best, best != "" && distance <= 2 && 2*distance < len(word) && next >= distance+2
}

// nearest returns the most similar known word, if any, its distance, and the distance of the second one.
func nearest(word string, known []string) (best string, distance, next int) {
	distance, next = len(word)/3+2, math.MaxInt
	for _, candidate := range slices.Compact(slices.Sorted(slices.Values(known))) {
		switch d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); {
		case d < distance:
			if best != "" {
				next = distance
			}
			best, distance = candidate, d
		case d < next:
			next = d
		}
	}
	return best, distance, next
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		now[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// IsIdentifier reports whether an expression can use the name after a dot.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }
