// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package source knows where in a document that a person wrote something stands, and decodes such documents strictly.
//
// It turns YAML into Nodes that remember file, line and column, decodes Nodes into Go structs with an error for every
// field that is unknown, double or of the wrong type, and collects such errors as Findings, all of them rather than the
// first. It knows nothing of profiles: pkg/profile says which documents there are. Enter at Parse and Decode.
package source

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

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
	// Fix mends it; nil where nobody can say for certain what was meant.
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

// FindingsOf are the findings that an error is or wraps, with the path where they have none; any other error is a finding
// at the node.
func FindingsOf(n Node, path string, err error) Findings {
	var (
		findings Findings
		finding  Finding
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &findings):
		findings = slices.Clone(findings)
	case errors.As(err, &finding):
		findings = Findings{finding}
	default:
		return Findings{n.Finding(path, "%s", err)}
	}
	for i := range findings {
		if findings[i].Path == "" {
			findings[i].Path = path
		}
	}
	return findings
}
