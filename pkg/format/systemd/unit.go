// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The errors of commands in units, to be found with errors.Is.
var (
	// ErrNoCommand marks an option without a value where a command is required.
	ErrNoCommand = errors.New("unit has no command")
	// ErrSeveralCommands marks an option with several values, or a value with several commands behind ";".
	ErrSeveralCommands = errors.New("unit has several commands")
	// ErrQuote marks a command with a quote that is not closed.
	ErrQuote = errors.New("command has an open quote")
)

// The errors of units, to be found with errors.Is.
var (
	// ErrUnit marks a text that is not a systemd unit, or one that systemd would read only in part.
	ErrUnit = errors.New("invalid systemd unit")
	// ErrOption marks a section, option or value that cannot be written into a unit.
	ErrOption = errors.New("invalid unit option")
)

// Unit is a systemd unit, or a drop-in, that is edited by splicing its text: unedited parts stay byte for byte,
// including comments and line endings. Several occurrences of a section are read as one. Values are parsed as in
// systemd (src/shared/conf-parser.c): a line with an odd number of trailing backslashes continues in the next line that
// is not a comment, the last backslash becomes a space, and surrounding white space is ignored.
type Unit struct {
	text    string
	lines   []unitLine
	version int // grows with every edit
}

// Parse reads a unit. An empty text is an empty unit. The error is ErrUnit with the line: a NUL, a section header
// that is not closed, a line without "=", an assignment outside of a section, a name that is continued on another line.
func Parse(text string) (*Unit, error) {
	lines, err := scanUnit(text)
	if err != nil {
		return nil, fmt.Errorf("reading a unit: %w", err)
	}
	return &Unit{text: text, lines: lines}, nil
}

// Text returns the unit with its edits.
func (u *Unit) Text() string { return u.text }

// Edits returns the number of edits so far. Writing an equal value is not an edit.
func (u *Unit) Edits() int { return u.version }

// Sections returns the names of the sections, each once, in the order of their first header.
func (u *Unit) Sections() []string {
	var out []string
	for i := range u.lines {
		if l := &u.lines[i]; l.header && !slices.Contains(out, l.name) {
			out = append(out, l.name)
		}
	}
	return out
}

// Options returns the names of the options in a section, each once, in the order of their first assignment.
func (u *Unit) Options(section string) []string {
	var out []string
	for i := range u.lines {
		if l := &u.lines[i]; !l.header && u.lines[l.section].name == section && !slices.Contains(out, l.name) {
			out = append(out, l.name)
		}
	}
	return out
}

// Values returns the values of an option in their order. An empty assignment, with which systemd forgets the values
// before it, is an empty value. Without the option it is nil.
func (u *Unit) Values(section, option string) []string {
	var out []string
	for _, i := range u.find(section, option) {
		out = append(out, u.value(i))
	}
	return out
}

// find returns the indexes of the assignments of an option.
func (u *Unit) find(section, option string) []int {
	var out []int
	for i := range u.lines {
		if l := &u.lines[i]; !l.header && l.name == option && u.lines[l.section].name == section {
			out = append(out, i)
		}
	}
	return out
}

// value returns the value of an assignment with its lines joined.
func (u *Unit) value(i int) string {
	l := &u.lines[i]
	if !l.continued {
		return u.text[l.first:l.last]
	}
	return joinLines(u.text[l.first:l.last])
}

// unitLine is a section header or an assignment, with all the lines that it is continued on.
type unitLine struct {
	name        string // of the section or the option
	start, end  int    // bytes, with the line ending
	first, last int    // the value without the white space and the continuations around it; where it goes, if empty
	section     int    // index of the section's header
	header      bool
	continued   bool // on several lines
	open        bool // the text ends where another line is expected
}

// scanUnit makes one pass over the text and returns its lines. Blank lines and comments have no entry.
func scanUnit(text string) ([]unitLine, error) {
	lines := make([]unitLine, 0, min(strings.Count(text, "\n"), 16))
	if at := strings.IndexByte(text, 0); at >= 0 {
		return nil, fmt.Errorf("line %d has a NUL: %w", lineNumber(text, at), ErrUnit)
	}
	section := -1
	for at := len(text) - len(strings.TrimPrefix(text, "\uFEFF")); at < len(text); {
		l, kind := scanUnitLine(text, at)
		at = l.end
		if kind == blankLine {
			continue
		}
		if kind != goodLine {
			return nil, fmt.Errorf("line %d %s: %w", lineNumber(text, l.start), kind, ErrUnit)
		}
		if l.header {
			section = len(lines)
		} else if section < 0 {
			return nil, fmt.Errorf("line %d is outside of a section: %w", lineNumber(text, l.start), ErrUnit)
		}
		l.section = section
		lines = append(lines, l)
	}
	return lines, nil
}

// lineKind is the kind of a line, or its mistake.
type lineKind string

const (
	goodLine  lineKind = "is good"
	blankLine lineKind = "is blank"
	noName    lineKind = `has no "="`
	noHeader  lineKind = "is not a section header"
)

// scanUnitLine reads the line that begins at an offset, with those that continue it.
func scanUnitLine(text string, at int) (unitLine, lineKind) {
	l := unitLine{start: at}
	end, next := endOfLine(text, at)
	from := skipBlank(text, at, end)
	l.end = next
	if from == end || isUnitComment(text[from]) {
		return l, blankLine
	}
	l.continued = endsInBackslash(text[from:end])
	if text[from] == '[' {
		return l.scanHeader(text, from, end)
	}
	equals := strings.IndexByte(text[from:end], '=')
	if equals <= 0 {
		return l, noName
	}
	l.name = strings.TrimRight(text[from:from+equals], blanks)
	l.scanValue(text, from+equals+1, end)
	return l, goodLine
}

func (l *unitLine) scanHeader(text string, from, end int) (unitLine, lineKind) {
	body := strings.TrimRight(text[from:end], blanks)
	if len(body) < 2 || l.continued || strings.IndexByte(body, ']') != len(body)-1 {
		return *l, noHeader
	}
	l.header, l.name, l.first, l.last = true, body[1:len(body)-1], from, end
	return *l, goodLine
}

// scanValue returns the begin and the end of the value; end is the end of the first line.
func (l *unitLine) scanValue(text string, from, end int) {
	l.first, l.last = from, from
	for more := l.continued; ; {
		stop := end
		if more {
			stop-- // the backslash
		}
		if begin := skipBlank(text, from, stop); begin < stop {
			if l.first == l.last {
				l.first = begin
			}
			l.last = begin + len(strings.TrimRight(text[begin:stop], blanks))
		}
		if !more {
			return
		}
		if from, end, l.end = nextPart(text, l.end); from == len(text) {
			l.open = true
			return
		}
		more = endsInBackslash(text[from:end])
	}
}

// nextPart returns the next line from an offset that is no comment: where it begins and ends, and where the one
// behind it begins. At the end of the text it is empty.
func nextPart(text string, at int) (from, end, next int) {
	for {
		end, next = endOfLine(text, at)
		if from = skipBlank(text, at, end); from == end || !isUnitComment(text[from]) {
			return at, end, next
		}
		at = next
	}
}

// joinLines returns a value that is written on several lines as one. It begins and ends within the lines.
func joinLines(raw string) string {
	out := make([]byte, 0, len(raw))
	from := 0
	end, next := endOfLine(raw, 0)
	for next > end {
		out = append(append(out, raw[from:end-1]...), ' ')
		from, end, next = nextPart(raw, next)
	}
	return string(append(out, raw[from:end]...))
}

// blanks is white space within a line.
const blanks = " \t"

// lineLength is the length of most lines, in bytes.
const lineLength = 128

// endOfLine returns where the line at an offset ends, and where the next one begins. As for systemd
// (src/basic/fileio.c, read_line), LF, CR, CRLF and LFCR each end one line.
func endOfLine(text string, at int) (end, next int) {
	for end = at; end < len(text); {
		part := text[end:min(end+lineLength, len(text))] // so that a text without LF is not searched for one in each line
		if found := strings.IndexByte(part, '\n'); found >= 0 {
			part = part[:found]
		}
		found := strings.IndexByte(part, '\r')
		if found < 0 {
			found = len(part)
		}
		if end += found; found < lineLength {
			break
		}
	}
	if next = min(end+1, len(text)); next < len(text) && text[next] == '\n'^'\r'^text[end] {
		next++
	}
	return end, next
}

func skipBlank(text string, at, end int) int {
	for at < end && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

func isUnitComment(c byte) bool { return c == '#' || c == ';' }

// endsInBackslash reports whether a line is continued: an even number of backslashes are escaped ones.
func endsInBackslash(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// lineNumber returns the number of the line that holds an offset, counted from 1.
func lineNumber(text string, offset int) int {
	number := 1
	for _, next := endOfLine(text, 0); next <= offset && next < len(text); _, next = endOfLine(text, next) {
		number++
	}
	return number
}

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

// Words splits a value at white space, and takes quotes and escapes out, as systemd does for Environment. The error is
// ErrQuote or ErrSeveralCommands.
func Words(value string) ([]string, error) {
	words, err := scanWords(value, 0, len(value))
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return texts, err
}

// scanWords returns the words of a value. The error is ErrQuote or ErrSeveralCommands.
func scanWords(text string, first, last int) ([]word, error) {
	s, words := wordScanner{text, first, last}, make([]word, 0, 4+(last-first)/64)
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

// newline skips the end of a continued line.
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

// continues reports whether a continued line ends here.
func (s *wordScanner) continues() bool {
	ahead := *s
	return ahead.newline()
}

// escape reads an escape sequence. An unknown one stays unchanged, as in systemd.
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

// splice replaces a part of a text.
type splice struct {
	start, end int
	text       string
}

// spliced applies ordered splices that do not overlap.
func spliced(text string, splices []splice) string {
	size := len(text)
	for _, s := range splices {
		size += len(s.text) - (s.end - s.start)
	}
	var out strings.Builder
	out.Grow(size)
	at := 0
	for _, s := range splices {
		out.WriteString(text[at:s.start])
		out.WriteString(s.text)
		at = s.end
	}
	out.WriteString(text[at:])
	return out.String()
}
