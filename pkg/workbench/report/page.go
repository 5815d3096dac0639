// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report

// Page is everything that a report says. Empty fields are left out.
type Page struct {
	// Title stands at the top and in the browser's tab, Lead below it in a sentence or two.
	Title, Lead string
	// Facts say of what the report was made, such as the profile and the version of Kubernetes.
	Facts []Fact
	// Figures are what one wants to know first, such as how many objects were denied.
	Figures []Figure
	// Sections are shown with the denied ones first, then those with changes, then the others; else in their order.
	Sections []Section
	// Rest are things that there is nothing to say of but their names.
	Rest []Names
	// Made says when the report was made; the caller has the clock, and a report without it is the same every time.
	Made string
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a number that stands out.
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
	// Kind and Name are the title, such as "Deployment" and "kube-apiserver"; Note says beside it in a few words what became of it.
	Kind, Name, Note string
	// Badges mark the section; without any, a denied one is marked so.
	Badges []Badge
	// Denied is why the object was denied, in lines; empty where it was not.
	Denied string
	// For are those for whom this is so, such as shoots; empty where there is one only.
	For []string
	// Blocks are the changed lines; a section without any is shown folded.
	Blocks []Block
	// Rules are those that had a say, in the order in which they were applied.
	Rules []Applied
}

// Block is the changed lines below one place.
type Block struct {
	Heading string
	Lines   []Line
}

// Op says what became of a line.
type Op byte

// What becomes of a line.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// Line is a line that changed, or one beside it.
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
	// At is where the rule stands, such as acme/profile.yaml:12; empty where there is no rule.
	At string
	// Alarm says that there should be a rule, and is none.
	Alarm bool
}

// Applied is a rule and what became of it.
type Applied struct {
	Rule    Rule
	Outcome Outcome
	// Reason says why a rule was skipped, who overrode it or what it would do.
	Reason string
}

// Outcome is what became of a rule, in the words that are shown.
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
