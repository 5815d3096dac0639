// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// code is a Lua expression. rank is the precedence of its outermost operator.
type code struct {
	text string
	rank int
}

// The precedence of operators in Lua, lowest first.
const (
	rankOr = iota + 1
	rankAnd
	rankComparison
	rankConcat
	rankSum
	rankUnary
	rankAtom
)

// width is the length at which lines are broken.
const width = 110

func atom(text string) code { return code{text, rankAtom} }

// within returns the text, in parentheses if its precedence is below rank.
func (c code) within(rank int) string {
	if c.rank >= rank {
		return c.text
	}
	if strings.Contains(c.text, "\n") {
		return "(\n" + indent(c.text) + "\n)"
	}
	return "(" + c.text + ")"
}

// compared returns a comparison. Operands that are comparisons get parentheses.
func compared(left code, operator string, right code) code {
	return code{left.within(rankComparison+1) + " " + operator + " " + right.within(rankComparison+1), rankComparison}
}

// chain joins operands by an operator.
func chain(operator string, rank int, operands []code) code {
	if len(operands) == 1 {
		return operands[0]
	}
	texts := make([]string, len(operands))
	for i, operand := range operands {
		texts[i] = operand.within(rank + 1)
	}
	return code{fold(texts, " "+operator+" ", func() string {
		lines := texts[0]
		for _, text := range texts[1:] {
			lines += "\n" + indent(operator+" "+text)
		}
		return lines
	}), rank}
}

// invoke returns a function call.
func invoke(function string, arguments ...string) code { return enclosed(function+"(", arguments, ")") }

// table returns a table constructor.
func table(members []string) code { return enclosed("{", members, "}") }

// enclosed returns a list of parts, on one line if there is room or only one part.
func enclosed(before string, parts []string, after string) code {
	if len(parts) == 1 {
		return atom(before + parts[0] + after)
	}
	return atom(before + fold(parts, ", ", func() string { return "\n" + indent(strings.Join(parts, ",\n")) + "\n" }) + after)
}

// closure returns an anonymous function that returns value.
func closure(value code, parameters ...string) string {
	head := "function(" + strings.Join(parameters, ", ") + ")"
	if len(value.text) < width && !strings.Contains(value.text, "\n") {
		return head + " return " + value.text + " end"
	}
	return head + "\n" + indent("return "+value.text) + "\nend"
}

// fold joins texts on one line, or calls otherwise if the line would be too long.
func fold(texts []string, separator string, otherwise func() string) string {
	joined := strings.Join(texts, separator)
	if len(joined) <= width && !strings.Contains(joined, "\n") || len(texts) == 0 {
		return joined
	}
	return otherwise()
}

// indent indents all lines by two spaces.
func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// quote returns a Lua string literal.
func quote(text string) string {
	var out strings.Builder
	valid := utf8.ValidString(text)
	out.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out.WriteString("\\" + string(c))
		case c < ' ' || c == 0x7f || c >= 0x80 && !valid:
			fmt.Fprintf(&out, "\\%03d", c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

var identifier = regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$")

// keywords lists the keywords of Lua.
var keywords = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then",
	"true", "until", "while",
}

// member returns a field of a table constructor.
func member(key string, value code) string {
	if identifier.MatchString(key) && !slices.Contains(keywords, key) {
		return key + " = " + value.text
	}
	return "[" + quote(key) + "] = " + value.text
}

// entry returns the access to a field of a table.
func entry(table, key string) string {
	if identifier.MatchString(key) && !slices.Contains(keywords, key) {
		return table + "." + key
	}
	return table + "[" + quote(key) + "]"
}

// largest is the number up to which Lua 5.1, with IEEE 754 doubles, represents all whole numbers exactly.
const largest = 1 << 53

// number returns a Lua number literal.
func number(value float64) code {
	text := strconv.FormatFloat(value, 'g', 17, 64)
	if short := strconv.FormatFloat(value, 'f', -1, 64); len(short) <= len(text) {
		text = short
	}
	if value < 0 {
		return code{text, rankUnary}
	}
	return atom(text)
}
