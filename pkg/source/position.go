// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
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
	File         string
	Line, Column int
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
	if p.File != q.File {
		return p.File < q.File
	}
	if p.Line != q.Line {
		return p.Line < q.Line
	}
	return p.Column < q.Column
}

// Finding is one thing that is wrong with a document, and where.
type Finding struct {
	Position
	// Path is the field, such as controlplane.kube-apiserver[0].flags.set; empty when the document itself is meant.
	Path string
	// Message says what is wrong and, where it is known, what would be right.
	Message string
	// Rule is the check that found it, and Severity how bad it is.
	Rule     Rule
	Severity Severity
	// Partial says that it is about a part of what the path names, such as a key that does not exist in it, so that the rest stands.
	Partial bool
	// Meant is the known word that was probably meant by an unknown one; empty where none is near.
	Meant string
	// Fix fixes it; nil where nobody can say for certain what was meant.
	Fix *Fix
}

// Of is the finding of a rule.
func (f Finding) Of(rule Rule) Finding {
	f.Rule = rule
	return f
}

// InPart is the finding about a part of what the path names.
func (f Finding) InPart() Finding {
	f.Partial = true
	return f
}

// Warn is the finding as a warning.
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

// Findings are all that is wrong, in the order of the files.
type Findings []Finding

// Error writes one finding a line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, finding := range f {
		lines[i] = finding.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is the findings as an error, sorted by position, or nil when there are none.
func (f Findings) Err() error {
	if len(f) == 0 {
		return nil
	}
	f.Sort()
	return f
}

// Sort orders the findings by position; findings at one place keep their order.
func (f Findings) Sort() {
	sort.SliceStable(f, func(i, j int) bool { return f[i].Before(f[j].Position) })
}

// Of gives the rule to those findings that have none.
func (f Findings) Of(rule Rule) Findings {
	for i := range f {
		if f[i].Rule == "" {
			f[i].Rule = rule
		}
	}
	return f
}

// Errors are the findings that are no warnings.
func (f Findings) Errors() Findings {
	return slices.DeleteFunc(slices.Clone(f), func(finding Finding) bool { return finding.Severity != Error })
}

// Rule is the id of a check: a kind of mistake, not one of its messages. Each has a page in docs/lint.
type Rule string

// The rules of what holds for every document, whatever it is about. Other packages have their own beside what they check.
const (
	// NotYAML is a file that cannot be read as YAML, or is too large to be read.
	NotYAML Rule = "not-yaml"
	// Anchor is an anchor, an alias or a merge.
	Anchor Rule = "anchor"
	// DuplicateKey is a key that stands twice in a mapping.
	DuplicateKey Rule = "duplicate-key"
	// UnknownField is a field that does not exist, or does not exist there.
	UnknownField Rule = "unknown-field"
	// WrongType is a value of another type than its field has.
	WrongType Rule = "wrong-type"
	// WrongValue is a value of the right type that its field cannot have.
	WrongValue Rule = "wrong-value"
	// InvalidName is a name that is not written as such names are.
	InvalidName Rule = "invalid-name"
	// MissingField is a field without which the document means nothing.
	MissingField Rule = "missing-field"
	// ExclusiveFields are fields of which exactly one is needed.
	ExclusiveFields Rule = "exclusive-fields"
	// MissingFile is a file that should stand beside the document, or cannot be read.
	MissingFile Rule = "missing-file"
	// UnknownKind is a document of a kind that is not known.
	UnknownKind Rule = "unknown-kind"
	// NoDocument is a file in which there is nothing, or more than it may have.
	NoDocument Rule = "no-document"
	// DuplicateName is a name that two things have.
	DuplicateName Rule = "duplicate-name"
	// NeverApplies is a condition that never holds.
	NeverApplies Rule = "never-applies"
	// AlwaysTrue is a condition that always holds.
	AlwaysTrue Rule = "always-true"
	// Unused is something with a name that nothing names.
	Unused Rule = "unused"
)

// Severity says how bad a finding is.
type Severity int

const (
	// Error is a finding with which the document cannot be used.
	Error Severity = iota
	// Warning is a finding with which it can be used, and is likely not what its author wants.
	Warning
)

// String is the severity in one word.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Beyond are the findings that are more than consequences of earlier ones in the same document: not about what is in a place that
// was refused as a whole, and not about a field that is missing because it is misspelt, or all that is missing beside a field that is not known.
func (f Findings) Beyond(earlier Findings) Findings {
	var beyond Findings
	for _, finding := range f {
		if !slices.ContainsFunc(earlier, finding.follows) {
			beyond = append(beyond, finding)
		}
	}
	return beyond
}

// follows says whether the finding is a consequence of an earlier one.
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

// Within says whether a path is another one or a part of it; nothing is a part of the empty path.
func Within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Suggest is the hint ` (did you mean "x"?)` for the known word that is nearest to the one given, or of which that is the beginning; "" when there is none.
func Suggest(word string, known []string) string {
	if best := near(word, known); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// near is the known word that is nearest to the one given, or of which that is the beginning; "" when there is none.
func near(word string, known []string) string {
	if best, _, _ := nearest(word, known); best != "" {
		return best
	}
	return begun(word, known)
}

// begun is the only known word that begins with the one given; "" where there is none, or several are.
func begun(word string, known []string) string {
	const least = 3
	longer := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(known))), func(candidate string) bool {
		return len(word) < least || !strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(word))
	})
	if len(longer) != 1 {
		return ""
	}
	return longer[0]
}

// ThereAre says what there is, for people, and not too much of it.
func ThereAre(known []string) string {
	const most = 10
	switch {
	case len(known) == 0:
		return "there are none"
	case len(known) > most:
		return fmt.Sprintf("there are %s and %d more", strings.Join(known[:most], ", "), len(known)-most)
	}
	return "there are " + strings.Join(known, ", ")
}

// Nearest is the known word that must have been meant: one or two slips away, less than half of the word, and nearer than any other by two.
// One that differs in nothing but the case of letters is meant, however near others are. False where there is none.
func Nearest(word string, known []string) (string, bool) {
	best, distance, next := nearest(word, known)
	if best != "" && distance == 0 {
		return best, next > 0
	}
	return best, best != "" && distance <= 2 && 2*distance < len(word) && next >= distance+2
}

// nearest is the known word that is nearest to the one given, if any is near, how far it is, and how far the one that is nearest after it.
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

// IsIdentifier says whether an expression can write the name after a dot.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }
