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

// single is one character of a pattern, and how often it may stand there.
type single struct {
	set, often string
	// anchor is ^ or $, wide says that the set has characters of several bytes.
	anchor, wide bool
}

// alternative is one way in which a text can match.
type alternative []single

// The bounds of what a regular expression becomes.
const (
	mostAlternatives = 64
	mostSingles      = 200
)

var errNoPattern = errors.New("has no equal among the patterns of Lua")

// patterns are those of Lua of which one matches exactly where a regular expression does. Lua's have neither groups nor alternatives: they are written out.
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

// text writes an alternative.
func (a alternative) text() (string, error) {
	var out strings.Builder
	wide := 0
	for i, s := range a {
		switch {
		case s.anchor && (s.set == "^" && i > 0 || s.set == "$" && i < len(a)-1):
			return "", errNoPattern
		case s.wide:
			// Taken byte by byte, two of them beside each other could share a character.
			if wide++; s.often != "*" && s.often != "+" || wide > 1 {
				return "", errNoPattern
			}
		}
		out.WriteString(s.set + s.often)
	}
	return out.String(), nil
}

// alternatives writes an expression out.
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

// repeated are characters that may stand there so often; a group only once, or not.
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

// counted is what stands there from Min to Max times.
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

// literal is a text, character by character; those that are not of ASCII byte by byte.
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

// flipped is a letter of ASCII in the other case.
func flipped(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	}
	return r
}

// class is a set of characters: of ASCII, or of all but some of ASCII.
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
		inner += span(byte(low), byte(high)) // #nosec G115 -- both are of ASCII
	}
	if wide {
		inner += "\x80-\xff"
	}
	return single{set: "[" + inner + "]", wide: wide}, nil
}

// span is a range of characters, as one where its ends are letters or digits.
func span(low, high byte) string {
	if high-low > 1 && escaped(low) == string([]byte{low}) && escaped(high) == string([]byte{high}) && low >= '0' {
		return string([]byte{low}) + "-" + string([]byte{high})
	}
	inner := ""
	for c := int(low); c <= int(high); c++ {
		inner += escaped(byte(c)) // #nosec G115 -- it is of ASCII
	}
	return inner
}

// escaped is a character that means itself.
func escaped(c byte) string {
	if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c < ' ' || c >= 0x7f {
		return string([]byte{c})
	}
	return "%" + string([]byte{c})
}

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
