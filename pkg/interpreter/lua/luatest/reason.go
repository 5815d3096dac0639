// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"regexp"
	"strings"
)

var (
	// evaluated is what the rules say of an expression that fails: the place in the profile, that in the file, and why.
	evaluated = regexp.MustCompile(`^\S+: kinds\[\d+\].*?: \S+:\d+(?::\d+)?: (.*)$`)
	// placed is a reason that both know: it names a rule or a member, or says that there is no rule.
	placed = regexp.MustCompile(`^(\S+: kinds\[|the member |the status of the member |status\.|no rule of )`)
	// spot is the place in the file of what the engine finds, behind that in the profile.
	spot = regexp.MustCompile(`^(\S+: kinds\[\d+\]\S*) \(\S+:\d+(?::\d+)?\): `)
	// part is the place in the profile of what the rules say of members and of fields, which scripts do not say.
	part = regexp.MustCompile(`^\S+: kinds\[\d+\].*?: `)
	// came is what the rules say of a value that came, which scripts do not, with what both say of what is needed instead.
	came = map[string]*regexp.Regexp{
		" must be ":       regexp.MustCompile(` is [^,]+, and must be `),
		" is no ":         regexp.MustCompile(` is [^,]+, and no `),
		" there must be ": regexp.MustCompile(` there is [^,]+ where there must be `),
	}
	// absent is a field that an expression needs.
	absent = regexp.MustCompile(`^there is no (\w+)(?:;|$)`)
	// unasked is what is wrong with a question that Karmada does not ask.
	unasked = regexp.MustCompile(`^(the object|the observed object) (is missing|is no JSON|is an? \S+, and must be an object)` +
		`|^the number of replicas is negative$|^the member \S* stands twice$`)
	// crashed is a script that was stopped by Lua, and refuses nothing.
	crashed = regexp.MustCompile(`^[^:]+:\d+: |attempt to `)
)

// Alike says whether the rules and a script fail for the same reason, as far as both know it.
//
// A refusal that the profile words is the same text. What the engine finds in an answer or in the status of a member is the same place and the same need; the
// rules say beside it what there is instead, in which part of which rule, and where in the file. Where an
// expression fails, the rules know the place and the script does not: it must fail in an expression, too, and where
// both say which field is missing, it is the same one. No script may be stopped by Lua itself.
//
// Not compared are the code, which Lua does not have, how else CEL and Lua say why an expression fails, and the reason why rules refuse a question that
// Karmada never asks: one without an object, for fewer replicas than none, or with a member that stands twice.
func Alike(ruled, scripted error) bool {
	want := spot.ReplaceAllString(ruled.Error(), "$1: ")
	got, _, _ := strings.Cut(scripted.Error(), "\nstack traceback:")
	got = strings.TrimSpace(got)
	if unasked.MatchString(want) {
		return true
	}
	if crashed.MatchString(got) {
		return false
	}
	expression := evaluated.FindStringSubmatch(want)
	if expression == nil {
		for need, whole := range came {
			want = whole.ReplaceAllString(want, need)
		}
		return want == got || part.ReplaceAllString(want, "") == got
	}
	if placed.MatchString(got) {
		return false
	}
	one, other := absent.FindStringSubmatch(expression[1]), absent.FindStringSubmatch(got)
	return one == nil || other == nil || one[1] == other[1]
}
