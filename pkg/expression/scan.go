// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// piece is a part of a template: literal text, or the text of an expression without its braces.
type piece struct {
	text       string
	expression bool
	// offset is where the text begins in the template, in bytes.
	offset int
}

// scanError is a problem of the template itself, at an offset in bytes.
type scanError struct {
	offset  int
	message string
}

func (e *scanError) Error() string { return e.message }

// scan splits a template. `${` begins an expression and `$${` is a literal `${`; a `$` before anything else is itself.
func scan(text string) ([]piece, *scanError) {
	var (
		pieces  []piece
		literal strings.Builder
	)
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{text: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$${"):
			literal.WriteString("${")
			i += 3
		case strings.HasPrefix(text[i:], "${"):
			end, err := scanExpression(text, i+2)
			if err != nil {
				return nil, err
			}
			inner := text[i+2 : end]
			if strings.TrimSpace(inner) == "" {
				return nil, &scanError{i, "the expression is empty"}
			}
			flush()
			pieces = append(pieces, piece{text: inner, expression: true, offset: i + 2})
			i = end + 1
		default:
			next := strings.IndexByte(text[i+1:], '$')
			if next < 0 {
				next = len(text) - i - 1
			}
			literal.WriteString(text[i : i+1+next])
			i += 1 + next
		}
	}
	flush()
	return pieces, nil
}

// scanExpression finds the brace that ends the expression which begins at start. Braces in CEL's strings, in comments and
// in map literals do not end it.
func scanExpression(text string, start int) (int, *scanError) {
	depth := 0
	for i := start; i < len(text); {
		switch c := text[i]; c {
		case '{':
			depth++
			i++
		case '}':
			if depth == 0 {
				return i, nil
			}
			depth--
			i++
		case '\'', '"', '`':
			end := skipString(text, i, isRaw(text, start, i))
			if end < 0 {
				return 0, &scanError{i, "the string in the expression has no end"}
			}
			i = end
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				i = skipLine(text, i)
			} else {
				i++
			}
		default:
			i++
		}
	}
	return 0, &scanError{start - 2, "the expression has no closing brace"}
}

func skipLine(text string, i int) int {
	if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
		return i + end
	}
	return len(text)
}

// isRaw says whether the quote at i opens a raw string: r"…", also with a b before or after the r.
func isRaw(text string, start, i int) bool {
	prefix := i
	for prefix > start && strings.IndexByte("rRbB", text[prefix-1]) >= 0 && i-prefix < 2 {
		prefix--
	}
	if prefix > start && isWord(text[prefix-1]) {
		return false
	}
	return strings.ContainsAny(text[prefix:i], "rR")
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipString returns the offset after the string whose opening quote stands at i, or -1 when it has no end.
func skipString(text string, i int, raw bool) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); quote != "`" && strings.HasPrefix(text[i:], triple) {
		quote = triple
	}
	for i += len(quote); i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\\' && !raw && quote != "`":
			i += 2
		case len(quote) == 1 && (text[i] == '\n' || text[i] == '\r'):
			return -1
		default:
			i++
		}
	}
	return -1
}

// origin says where a text stands: the position of its first character, which may be unknown in part.
type origin struct {
	at   source.Position
	text string
}

// position is the place of a byte of the text. Lines after the first begin in the column of the first, as in YAML's block scalars.
func (o origin) position(offset int) source.Position {
	before := o.text[:min(offset, len(o.text))]
	p := o.at
	if p.Line == 0 {
		p.Line, p.Column = 1, 1
	}
	p.Line += strings.Count(before, "\n")
	if p.Column > 0 {
		p.Column += utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	}
	return p
}

func (o origin) finding(offset int, format string, arguments ...any) source.Finding {
	return source.Finding{Position: o.position(offset), Message: fmt.Sprintf(format, arguments...), Rule: SyntaxError}
}
