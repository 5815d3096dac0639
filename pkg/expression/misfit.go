// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
)

// misfit is an operator or a function with the types that it was given, and does not take.
type misfit struct {
	// function is what CEL calls it, such as _+_.
	function string
	// given are types as CEL writes them, that of the object of a method first; empty where it is not known.
	given  []string
	member bool
}

// refused is what CEL says of types that do not fit.
var refused = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'$`)

// misfitOf reads what CEL says.
func misfitOf(message string) (misfit, bool) {
	m := refused.FindStringSubmatch(message)
	if m == nil {
		return misfit{}, false
	}
	found := misfit{function: m[1]}
	rest := m[2]
	if target := wordOfType(rest); strings.HasPrefix(rest[target:], ".(") {
		found.given, found.member, rest = []string{rest[:target]}, true, rest[target+1:]
	}
	for rest = strings.TrimSuffix(strings.TrimPrefix(rest, "("), ")"); rest != ""; {
		length := wordOfType(rest)
		found.given = append(found.given, rest[:length])
		rest = strings.TrimPrefix(rest[length:], ", ")
	}
	return found, true
}

// wordOfType is the length of the type with which a text begins: up to a comma or ".(" that is in no parentheses.
func wordOfType(text string) int {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case depth == 0 && (text[i] == ',' || strings.HasPrefix(text[i:], ".(")):
			return i
		}
	}
	return len(text)
}

// say is the misfit in words: what it is, what was given, and what would do.
func (e *Environment) say(m misfit) string {
	symbol := symbolOf(m.function)
	switch _, isOperator := operators.FindReverse(m.function); {
	case !isOperator:
		return e.sayFunction(m)
	case len(m.given) != operators.Arity(m.function) || slices.Contains(m.given, ""):
		if takes[m.function] == "" {
			return symbol + " cannot take what it was given"
		}
		return fmt.Sprintf("%[1]s cannot take what it was given; %[1]s is for %[2]s, both of one type", symbol, takes[m.function])
	}
	first, last := m.given[0], m.given[len(m.given)-1]
	switch m.function {
	case operators.Conditional:
		if first != "bool" && first != "dyn" {
			return "the condition in front of ? must be a bool, is " + called(first) + remedy(first)
		}
		return fmt.Sprintf("what stands on both sides of : must be of one type, is %s and %s%s", called(m.given[1]), called(last), remedy(m.given[1], last))
	case operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr:
		wrong := slices.DeleteFunc(slices.Clone(m.given), func(t string) bool { return t == "bool" || t == "dyn" })
		if len(wrong) == 0 {
			return symbol + " cannot take what it was given"
		}
		return fmt.Sprintf("%s is for bools, not for %s%s", symbol, calledAll(wrong), remedy(wrong[0]))
	case operators.Index, operators.OptIndex:
		return sayIndex(first, last)
	case operators.OptSelect:
		return "only maps and objects have fields, not " + called(first) + remedy(first)
	case operators.In:
		return sayIn(first, last)
	case operators.Negate:
		return "- is for numbers, not for " + called(first) + remedy(first)
	case operators.Equals, operators.NotEquals:
		return fmt.Sprintf("%s cannot compare %s with %s%s", symbol, called(first), called(last), remedy(first, last))
	}
	remedy := remedy(first, last)
	if remedy == "" {
		remedy = fmt.Sprintf("; %s is for %s, both of one type", symbol, takes[m.function])
	}
	return fmt.Sprintf("%s cannot take %s and %s%s", symbol, called(first), called(last), remedy)
}

const ordered = "numbers, strings, bools, timestamps and durations"

// takes is what operators are for.
var takes = map[string]string{
	operators.Add: "numbers, strings, lists, bytes, timestamps and durations", operators.Subtract: "numbers, timestamps and durations",
	operators.Multiply: "numbers", operators.Divide: "numbers", operators.Modulo: "whole numbers",
	operators.Less: ordered, operators.LessEquals: ordered, operators.Greater: ordered, operators.GreaterEquals: ordered,
}

func sayIndex(container, key string) string {
	switch word(container) {
	case "list":
		return "an item of a list is read by its number, not by " + called(key) + remedy(key)
	case "map":
		return fmt.Sprintf("%s is not read by %s%s", called(container), called(key), remedy(key))
	case "string":
		return "[…] reads lists and maps, not a string; a character of a string is given by charAt(…)"
	}
	return "[…] reads lists and maps, not " + called(container) + remedy(container)
}

func sayIn(item, container string) string {
	switch word(container) {
	case "list", "map":
		return fmt.Sprintf("%s is never in %s%s", called(item), called(container), remedy(item))
	case "string":
		return "in looks into lists and maps, not into a string; whether a string has a part is said by contains(…)"
	}
	return "in looks into lists and maps, not into " + called(container) + remedy(container)
}

// sayIteration says of what there are no items.
func sayIteration(over string) string {
	return "lists and maps have items, and not " + called(over) + remedy(over)
}

// symbolOf is how an operator or a function is written.
func symbolOf(function string) string {
	switch symbol, isOperator := operators.FindReverse(function); {
	case !isOperator:
		return strings.TrimLeft(function, "@")
	case symbol != "":
		return symbol
	case function == operators.Conditional:
		return "?"
	default:
		return "[…]"
	}
}

// sayFunction says how a function is called: with as many arguments, where it can be.
func (e *Environment) sayFunction(m misfit) string {
	var known, alike []string
	given := callOf(m.function, m.member, m.given)
	if declared := e.env.Functions()[m.function]; declared != nil {
		for _, o := range declared.OverloadDecls() {
			way := callOf(m.function, o.IsMemberFunction(), typeNames(o.ArgTypes()))
			known = append(known, way)
			if o.IsMemberFunction() == m.member && len(o.ArgTypes()) == len(m.given) {
				alike = append(alike, way)
			}
		}
	}
	if len(alike) > 0 {
		known = alike
	}
	const most = 4
	slices.Sort(known)
	if known = slices.Compact(known); len(known) > most {
		known = append(known[:most:most], "…")
	}
	items := slices.ContainsFunc(known, func(way string) bool { return typeParameters.ReplaceAllString(way, "$1") == given })
	switch {
	case len(known) == 0:
		return m.function + " cannot take what it was given"
	case slices.Contains(m.given, ""):
		return fmt.Sprintf("%s is called as %s, and was given something else", m.function, oneOf(known))
	case items:
		return fmt.Sprintf("%s is called as %s, and was given other items", m.function, oneOf(known))
	}
	return fmt.Sprintf("%s is called as %s, not as %s%s", m.function, oneOf(known), given, remedyOfAbsent(m.given))
}

// callOf is how a function is called with types.
func callOf(name string, member bool, given []string) string {
	given = slices.Clone(given)
	for i, t := range given {
		given[i] = anyParameters.ReplaceAllString(strings.TrimSuffix(t, "_type"), "")
	}
	if member {
		name, given = given[0]+"."+name, given[1:]
	}
	return name + "(" + strings.Join(given, ", ") + ")"
}

var (
	// anyParameters are what a type is of where that may be anything, typeParameters where it is something.
	anyParameters  = regexp.MustCompile(`\((<?[A-Z]>?(, )?)+\)`)
	typeParameters = regexp.MustCompile(`\b(list|map)\([^()]+\)`)
)

func typeNames(all []*cel.Type) []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = cel.FormatCELType(t)
	}
	return names
}

// oneOf joins words by commas and or.
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// word is a type without what it is of.
func word(t string) string {
	name, _, _ := strings.Cut(t, "(")
	return name
}

// called is a type for people.
func called(t string) string {
	switch word(t) {
	case "":
		return "something"
	case "dyn":
		return "a value of any type"
	case "null", "null_type":
		return "null"
	case absentType:
		return "what may be absent"
	case "bytes":
		return "bytes"
	case versionType:
		return "a version"
	case quantityType:
		return "a quantity"
	case "int":
		return "an int"
	}
	return "a " + t
}

func calledAll(all []string) string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = called(t)
	}
	return strings.Join(slices.Compact(words), " and ")
}
