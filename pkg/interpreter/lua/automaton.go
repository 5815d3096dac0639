// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"unicode"
)

// mostSteps bounds an automaton, so that it can be read and ends in time.
const mostSteps = 500

// automaton is a regular expression as a table of steps, for accepts in the runtime: {"rune", next, ranges…}, {"to", next…}, {"first", next},
// {"last", next} and {"match"}. The first step of all is that with the number in start.
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
		return "", errNoPattern
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

// stepOf writes a step.
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
			return nil, errNoPattern
		}
		return []string{word, next}, nil
	case syntax.InstRuneAny:
		return []string{`"rune"`, next, "0", strconv.Itoa(unicode.MaxRune)}, nil
	case syntax.InstRuneAnyNotNL:
		return []string{`"rune"`, next, "0", "9", "11", strconv.Itoa(unicode.MaxRune)}, nil
	}
	step := []string{`"rune"`, next}
	for _, r := range ranges(i) {
		step = append(step, strconv.Itoa(int(r)))
	}
	return step, nil
}

// ranges are the first and last characters of the ranges that a step takes.
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
	return slices.Clip(all)
}
