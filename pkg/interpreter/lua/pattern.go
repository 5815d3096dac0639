// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// single is a character set of a pattern with its repetition.
type single struct {
	set, often string
	// anchor is true for ^ and $. wide is true if the set contains multi-byte characters.
	anchor, wide bool
}

// alternative is one of several patterns for a regular expression.
type alternative []single

// Limits for the translation of a regular expression.
const (
	mostAlternatives = 64
	mostSingles      = 200
)

var errNoPattern = errors.New("has no equivalent Lua pattern")

// patterns translates a regular expression to Lua patterns, one of which matches exactly if the expression
// does. Lua patterns have neither groups nor alternatives, so these are expanded. It fails if there is no
// equivalent.
func patterns(expression string) ([]string, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	all, err := alternatives(parsed)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(all))
	for i, a := range all {
		if texts[i], err = a.text(); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// text returns the pattern.
func (a alternative) text() (string, error) {
	var out strings.Builder
	wide := 0
	for i, s := range a {
		switch {
		case s.anchor && (s.set == "^" && i > 0 || s.set == "$" && i < len(a)-1):
			return "", errNoPattern
		case s.wide:
			// Lua matches bytes. Two adjacent wide sets could split a character.
			if wide++; s.often != "*" && s.often != "+" || wide > 1 {
				return "", errNoPattern
			}
		}
		out.WriteString(s.set + s.often)
	}
	return out.String(), nil
}

// alternatives expands an expression.
func alternatives(e *syntax.Regexp) ([]alternative, error) {
	switch e.Op {
	case syntax.OpEmptyMatch:
		return []alternative{{}}, nil
	case syntax.OpLiteral:
		return []alternative{literal(e)}, nil
	case syntax.OpCharClass:
		s, err := class(e.Rune)
		return []alternative{{s}}, err
	case syntax.OpAnyChar:
		return []alternative{{{set: ".", wide: true}}}, nil
	case syntax.OpAnyCharNotNL:
		return []alternative{{{set: "[^\n]", wide: true}}}, nil
	case syntax.OpBeginText:
		return []alternative{{{set: "^", anchor: true}}}, nil
	case syntax.OpEndText:
		return []alternative{{{set: "$", anchor: true}}}, nil
	case syntax.OpCapture:
		return alternatives(e.Sub[0])
	case syntax.OpConcat:
		return concatenated(e.Sub)
	case syntax.OpAlternate:
		return either(e.Sub)
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus:
		return repeated(e.Sub[0], map[syntax.Op]string{syntax.OpQuest: "?", syntax.OpStar: "*", syntax.OpPlus: "+"}[e.Op])
	case syntax.OpRepeat:
		return counted(e)
	default:
		return nil, errNoPattern
	}
}

func either(all []*syntax.Regexp) ([]alternative, error) {
	var result []alternative
	for _, e := range all {
		more, err := alternatives(e)
		if err != nil {
			return nil, err
		}
		result = append(result, more...)
	}
	return result, bounded(result)
}

func concatenated(all []*syntax.Regexp) ([]alternative, error) {
	result := []alternative{{}}
	for _, e := range all {
		more, err := alternatives(e)
		if err != nil {
			return nil, err
		}
		var longer []alternative
		for _, head := range result {
			for _, tail := range more {
				longer = append(longer, slices.Concat(head, tail))
			}
		}
		if result = longer; bounded(result) != nil {
			return nil, errNoPattern
		}
	}
	return result, nil
}

// repeated translates a repetition of characters. A group can only be optional.
func repeated(e *syntax.Regexp, often string) ([]alternative, error) {
	all, err := alternatives(e)
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && len(all[0]) == 1 && all[0][0].often == "" && !all[0][0].anchor {
		one := all[0][0]
		one.often = often
		return []alternative{{one}}, nil
	}
	if often != "?" {
		return nil, errNoPattern
	}
	return append(all, alternative{}), nil
}

// counted translates a repetition with a minimum and a maximum.
func counted(e *syntax.Regexp) ([]alternative, error) {
	parts := slices.Repeat([]*syntax.Regexp{e.Sub[0]}, e.Min)
	if e.Max < 0 {
		parts = append(parts, &syntax.Regexp{Op: syntax.OpStar, Sub: e.Sub})
	}
	for range e.Max - e.Min {
		parts = append(parts, &syntax.Regexp{Op: syntax.OpQuest, Sub: e.Sub})
	}
	return concatenated(parts)
}

func bounded(all []alternative) error {
	if len(all) > mostAlternatives || slices.ContainsFunc(all, func(a alternative) bool { return len(a) > mostSingles }) {
		return errNoPattern
	}
	return nil
}

// literal translates a literal text by characters, or by bytes if they are not ASCII.
func literal(e *syntax.Regexp) alternative {
	var a alternative
	for _, r := range e.Rune {
		other := flipped(r)
		switch {
		case e.Flags&syntax.FoldCase != 0 && other != r:
			a = append(a, single{set: "[" + string(r) + string(other) + "]"})
		case r < 0x80:
			a = append(a, single{set: escaped(byte(r))})
		default:
			for _, b := range []byte(string(r)) {
				a = append(a, single{set: string([]byte{b})})
			}
		}
	}
	return a
}

// flipped returns an ASCII letter in the opposite case.
func flipped(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	}
	return r
}

// class translates a character class: of ASCII characters, or of all characters except some ASCII ones.
func class(ranges []rune) (single, error) {
	inner, wide := "", false
	if last := ranges[len(ranges)-1]; last > 0x7f {
		if last != 0x10ffff || ranges[len(ranges)-2] > 0x80 {
			return single{}, errNoPattern
		}
		wide = true
	}
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], min(ranges[i+1], 0x7f)
		if low > high {
			continue
		}
		inner += span(byte(low), byte(high)) // #nosec G115 -- both are ASCII
	}
	if wide {
		inner += "\x80-\xff"
	}
	return single{set: "[" + inner + "]", wide: wide}, nil
}

// span returns a range of characters, written as a-b if both ends are letters or digits.
func span(low, high byte) string {
	if high-low > 1 && escaped(low) == string([]byte{low}) && escaped(high) == string([]byte{high}) && low >= '0' {
		return string([]byte{low}) + "-" + string([]byte{high})
	}
	inner := ""
	for c := int(low); c <= int(high); c++ {
		inner += escaped(byte(c)) // #nosec G115 -- it is ASCII
	}
	return inner
}

// escaped returns a pattern for one character.
func escaped(c byte) string {
	if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c < ' ' || c >= 0x7f {
		return string([]byte{c})
	}
	return "%" + string([]byte{c})
}

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
	return slices.Clip(all)
}
