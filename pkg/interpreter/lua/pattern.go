// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"errors"
	"regexp/syntax"
	"strconv"
	"unicode"
)

// errUnsupported means that scripts cannot match a regular expression.
var errUnsupported = errors.New("is too large, or has an assertion that scripts do not support")

// mostSteps limits the size of an automaton, and with it the run time.
const mostSteps = 500

// automaton translates a regular expression to a table of steps for the runtime function accepts: {"rune",
// next, ranges…}, {"to", next…}, {"first", next}, {"last", next} and {"match"}. start is the index of the
// first step.
func automaton(expression string) (string, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return "", err
	}
	if len(program.Inst) > mostSteps {
		return "", errUnsupported
	}
	steps := []string{"start = " + strconv.Itoa(program.Start+1)}
	for i := range program.Inst {
		step, err := stepOf(&program.Inst[i])
		if err != nil {
			return "", err
		}
		steps = append(steps, table(step).text)
	}
	return table(steps).text, nil
}

// stepOf returns one step.
func stepOf(i *syntax.Inst) ([]string, error) {
	next := strconv.FormatUint(uint64(i.Out)+1, 10)
	switch i.Op {
	case syntax.InstMatch:
		return []string{`"match"`}, nil
	case syntax.InstFail:
		return []string{`"to"`}, nil
	case syntax.InstAlt, syntax.InstAltMatch:
		return []string{`"to"`, next, strconv.FormatUint(uint64(i.Arg)+1, 10)}, nil
	case syntax.InstCapture, syntax.InstNop:
		return []string{`"to"`, next}, nil
	case syntax.InstEmptyWidth:
		word := map[syntax.EmptyOp]string{syntax.EmptyBeginText: `"first"`, syntax.EmptyEndText: `"last"`}[syntax.EmptyOp(i.Arg)]
		if word == "" {
			return nil, errUnsupported
		}
		return []string{word, next}, nil
	}
	step := []string{`"rune"`, next}
	for _, r := range ranges(i) {
		step = append(step, strconv.Itoa(int(r)))
	}
	return step, nil
}

// ranges returns the bounds of the character ranges that a step accepts.
func ranges(i *syntax.Inst) []rune {
	if len(i.Rune) != 1 {
		return i.Rune
	}
	all := []rune{i.Rune[0], i.Rune[0]}
	if syntax.Flags(i.Arg)&syntax.FoldCase == 0 {
		return all
	}
	for r := unicode.SimpleFold(i.Rune[0]); r != i.Rune[0]; r = unicode.SimpleFold(r) {
		all = append(all, r, r)
	}
	return all
}
