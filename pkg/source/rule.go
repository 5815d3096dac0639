// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

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
