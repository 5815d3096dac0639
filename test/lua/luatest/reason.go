// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"regexp"
	"strings"
)

var (
	// evaluated matches the rules' message for an expression that fails: place in the profile, place in the
	// file, reason.
	evaluated = regexp.MustCompile(`^\S+: kinds\[\d+\].*?: \S+:\d+(?::\d+)?: (.*)$`)
	// placed matches a message that both contain: it names a rule or a member, or states that there is no rule.
	placed = regexp.MustCompile(`^(\S+: kinds\[|the member |the status of the member |status\.|no rule of )`)
	// spot matches the position in a file, after the place in the profile.
	spot = regexp.MustCompile(`^(\S+: kinds\[\d+\]\S*) \(\S+:\d+(?::\d+)?\): `)
	// part matches the place in the profile, which scripts do not report for members and fields.
	part = regexp.MustCompile(`^\S+: kinds\[\d+\].*?: `)
	// came matches the actual value in a message of the rules, which scripts do not report. The key is the
	// requirement, which both report.
	came = map[string]*regexp.Regexp{
		" must be ": regexp.MustCompile(` is [^,]+, and must be `),
		" is not ":  regexp.MustCompile(` is [^,]+, not `),
	}
	// absent matches the name of a missing field.
	absent = regexp.MustCompile(`^there is no (\w+)(?:;|$)`)
	// unasked matches errors of questions that Karmada never asks.
	unasked = regexp.MustCompile(`^(the object|the observed object) ` +
		`(is missing|is not valid JSON|is an? \S+, and must be an object)` +
		`|^the number of replicas is negative$|^the member \S* is listed twice$`)
	// crashed matches an error of Lua itself, in contrast to a deliberate error of the script.
	crashed = regexp.MustCompile(`^[^:]+:\d+: |attempt to `)
)

// Alike reports whether the rules and a script fail for the same reason, as far as both state it.
//
// A refusal in the profile has the same text in both. For an invalid answer or member status, both report the
// same place and requirement; the rules also report the actual value and the position in the file. If an
// expression fails, the rules report the place and the script does not: the script must fail in an expression
// too, and if both name a missing field, it must be the same. A script must never fail with an error of Lua
// itself.
//
// Alike does not compare failure codes, which Lua lacks, other explanations of failed expressions, or the
// rules' reasons for rejecting questions that Karmada never asks: without object, with negative replicas, or
// with a duplicate member.
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
