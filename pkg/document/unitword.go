// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// word is one argument of a command in a unit.
type word struct {
	start, end int    // bytes in the unit
	text       string // without quotes and escapes
}

// wordScanner reads the words of a command from the text of a unit, over the ends of its lines.
type wordScanner struct {
	text    string
	at, end int
}

// scanWords reads the words of a value and appends them. The error is ErrQuote or ErrSeveralCommands.
func scanWords(text string, first, last int, words []word) ([]word, error) {
	s := wordScanner{text, first, last}
	for s.skip(); s.at < s.end; s.skip() {
		w, err := s.word()
		if err != nil {
			return nil, err
		}
		if raw := text[w.start:w.end]; raw == ";" {
			return nil, ErrSeveralCommands
		} else if raw == `\;` {
			w.text = ";"
		}
		words = append(words, w)
	}
	return words, nil
}

// skip passes white space, ends of lines and the comments between them.
func (s *wordScanner) skip() {
	for s.at < s.end {
		if isBlank(s.text[s.at]) {
			s.at++
		} else if !s.newline() {
			return
		}
	}
}

// newline passes the end of a line that goes on.
func (s *wordScanner) newline() bool {
	if s.text[s.at] != '\\' || s.at+1 >= s.end || s.text[s.at+1] != '\n' && s.text[s.at+1] != '\r' {
		return false
	}
	_, next := endOfLine(s.text, s.at+1)
	s.at, _, _ = nextPart(s.text, next)
	return true
}

// word reads one word. Most have neither quotes nor escapes and are not copied.
func (s *wordScanner) word() (word, error) {
	w := word{start: s.at}
	for s.at < s.end && !endsWord[s.text[s.at]] {
		s.at++
	}
	if s.at < s.end && !isBlank(s.text[s.at]) {
		text, err := s.decode([]byte(s.text[w.start:s.at]))
		w.end, w.text = s.at, text
		return w, err
	}
	w.end, w.text = s.at, s.text[w.start:s.at]
	return w, nil
}

// endsWord are the bytes that end a word, or are more than themselves in it.
var endsWord = [256]bool{' ': true, '\t': true, '"': true, '\'': true, '\\': true}

// decode reads the rest of a word with quotes or escapes.
func (s *wordScanner) decode(out []byte) (string, error) {
	quote := byte(0)
	for s.at < s.end {
		c := s.text[s.at]
		switch {
		case c == '\\' && s.at+1 < s.end:
			if quote == 0 && s.continues() {
				return string(out), nil
			}
			if s.newline() {
				out = append(out, ' ')
				continue
			}
			out = s.escape(out)
			continue
		case quote == 0 && isBlank(c):
			return string(out), nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		default:
			out = append(out, c)
		}
		s.at++
	}
	if quote != 0 {
		return "", ErrQuote
	}
	return string(out), nil
}

// continues reports whether a line ends here that goes on.
func (s *wordScanner) continues() bool {
	ahead := *s
	return ahead.newline()
}

// escape reads an escape sequence. One that systemd does not know stays as it is, as there.
func (s *wordScanner) escape(out []byte) []byte {
	const from, to = `abfnrtv\"'s`, "\a\b\f\n\r\t\v\\\"' "
	body := s.text[s.at+1 : s.end]
	if i := strings.IndexByte(from, body[0]); i >= 0 {
		s.at += 2
		return append(out, to[i])
	}
	digits, base := 3, 8
	switch body[0] {
	case 'x':
		digits, base = 2, 16
	case 'u':
		digits, base = 4, 16
	case 'U':
		digits, base = 8, 16
	}
	skip := base / 16 // the letter
	if len(body) >= skip+digits {
		n, err := strconv.ParseUint(body[skip:skip+digits], base, 32)
		if err == nil && n != 0 && (digits > 3 && utf8.ValidRune(rune(n)) || digits <= 3 && n < 256) {
			s.at += 1 + skip + digits
			if digits > 3 {
				return utf8.AppendRune(out, rune(n))
			}
			return append(out, byte(n))
		}
	}
	s.at += 2
	return append(out, '\\', body[0])
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// quoteWord writes an argument so that systemd reads it back.
func quoteWord(text string) string {
	const special = " \t\n\r\"'\\"
	if text != "" && !isUnitComment(text[0]) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(special, r)
	}) {
		return text
	}
	out := []byte{'"'}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\t':
			out = append(out, '\\', 't')
		case c < ' ' || c == 0x7f:
			out = append(out, '\\', 'x', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}
