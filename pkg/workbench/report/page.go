// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report

// Page is everything that a report says. Empty fields are left out.
type Page struct {
	// Title is the heading and the title of the browser's tab; Lead follows it in a sentence or two.
	Title, Lead string
	// Facts describes the input of the report, such as the profile and the version of Kubernetes.
	Facts []Fact
	// Figures lists the most important numbers, such as that of denied objects.
	Figures []Figure
	// Sections are displayed with denied ones first, then changed ones, then the rest; otherwise in their order.
	Sections []Section
	// Rest are things that there is nothing to say of but their names.
	Rest []Names
	// Made says when the report was made; the caller has the clock, and a report without it is the same every time.
	Made string
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a highlighted number.
type Figure struct {
	Value, Label string
	Tone         Tone
}

// Tone is how something is meant, and so coloured.
type Tone string

// The tones; the zero Tone is neutral.
const (
	Good    Tone = "good"
	Notable Tone = "notable"
	Bad     Tone = "bad"
)

// Badge is a word or two that mark a section, such as "rolls".
type Badge struct {
	Text string
	Tone Tone
}

// Section is one object, or one change that several have in common.
type Section struct {
	// Kind and Name form the title, such as "Deployment" and "kube-apiserver"; Note is a short description of the
	// result next to it.
	Kind, Name, Note string
	// Badges mark the section; without any, a denied one is marked so.
	Badges []Badge
	// Denied is why the object was denied, in lines; empty where it was not.
	Denied string
	// For lists the affected ones, such as shoots; empty if there is only one.
	For []string
	// Blocks are the changed lines; a section without any is shown folded.
	Blocks []Block
	// Rules lists the rules involved, in the order of their application.
	Rules []Applied
}

// Block is the changed lines below one place.
type Block struct {
	Heading string
	Lines   []Line
}

// Op is the state of a line in a comparison.
type Op byte

// The states of a line.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// Line is a changed line or its context.
type Line struct {
	Op Op
	// Indent counts steps of two characters.
	Indent int
	Text   string
	// Gap says that lines are left out before this one, Folded that lines below it are.
	Gap, Folded bool
	// By is who changed the line; nil for one that stayed.
	By *Rule
}

// Rule is who changes something. Rules are the same when all fields are.
type Rule struct {
	Name, Profile string
	// At is the position of the rule, such as acme/profile.yaml:12; empty if there is no rule.
	At string
	// Alarm says that there should be a rule, and is none.
	Alarm bool
}

// Applied is a rule with its outcome.
type Applied struct {
	Rule    Rule
	Outcome Outcome
	// Reason explains why the rule was skipped, by which rule it was overridden, or its effect if it were applied.
	Reason string
}

// Outcome is the outcome of a rule in the words of the output.
type Outcome string

// The outcomes.
const (
	Changed    Outcome = "applied"
	Unchanged  Outcome = "already so"
	Skipped    Outcome = "skipped"
	Overridden Outcome = "overridden"
	Observed   Outcome = "observed"
)

// Names are names under a heading.
type Names struct {
	Heading string
	Names   []string
}
