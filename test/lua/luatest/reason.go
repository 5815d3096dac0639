// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// ruleName matches the name of a rule at the start of a message.
	ruleName = regexp.MustCompile(`^\S+: kinds\[\d+\]\.\w+\[\d+\]`)
	// exactly matches messages that rules and scripts have in common: a refusal of the profile, and that no rule
	// applies.
	exactly = regexp.MustCompile(`^(\S+: kinds\[\d+\]\.\w+\[\d+\]\.refuse: |no rule of )`)
	// spot matches the position in a file, after the place in the profile.
	spot = regexp.MustCompile(`^(\S+: kinds\[\d+\]\S*) \(\S+:\d+(?::\d+)?\): `)
	// evaluated matches the rules' message for an expression that fails.
	evaluated = regexp.MustCompile(`^\S+: kinds\[\d+\].*?: \S+:\d+(?::\d+)?: `)
	// unasked matches errors of questions that Karmada never asks.
	unasked = regexp.MustCompile(`^(the object|the observed object) ` +
		`(is missing|is not valid JSON|is an? \S+, and must be an object)` +
		`|^the number of replicas is negative$|^the member \S* is listed twice$`)
	// native matches the errors of Lua itself for values of the wrong type, and of Karmada's library for quantities.
	// Others are mistakes in the script.
	native = regexp.MustCompile(`^(<string>:\d+: (attempt to (index|compare|concatenate)|cannot perform|` +
		`assertion failed|bad argument #\d+ to (ipairs|pairs|next|modf) )|cannot parse ')`)
	// written matches the lines of a script that name a rule, and line a position in a script.
	written = regexp.MustCompile(`^ *(?:-- |rule = ")([^"]*)`)
	line    = regexp.MustCompile(`<string>:(\d+):`)
)

// Named returns the message of a script's error, with the name of the rule if Lua itself reports the error: the script
// names it above the last line of the stack.
func Named(script string, err error) string {
	message, _, _ := strings.Cut(err.Error(), "\nstack traceback:")
	message = strings.TrimSpace(message)
	if !native.MatchString(message) {
		return message
	}
	last := 0
	for _, found := range line.FindAllStringSubmatch(err.Error(), -1) {
		number, _ := strconv.Atoi(found[1]) // the expression matches digits
		last = max(last, number)
	}
	rule := ""
	for i, text := range strings.Split(script, "\n") {
		if found := written.FindStringSubmatch(text); found != nil && i < last {
			rule = found[1]
		}
	}
	return rule + ": " + message
}

// Alike reports whether the rules and a script fail in the same rule. want is the error of the rules, got that of the
// script, as Named returns it.
//
// Refusals of a profile have the same text in both. Other errors of a script name the rule, and no reason. An error of
// the rules may name a member or the status instead. Alike does not compare the rules' reasons for rejecting questions
// that Karmada never asks: without object, with negative replicas, or with a duplicate member.
func Alike(want, got string) bool {
	want = spot.ReplaceAllString(want, "$1: ")
	switch {
	case unasked.MatchString(want):
		return true
	case exactly.MatchString(got) || exactly.MatchString(want) && !evaluated.MatchString(want):
		return want == got
	}
	rule := ruleName.FindString(want)
	return ruleName.MatchString(got) && (rule == "" || rule == ruleName.FindString(got))
}
