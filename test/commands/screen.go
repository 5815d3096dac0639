// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen is the visible content of a terminal of some width, as far as command lines need it: lines that wrap and never
// scroll, carriage returns, cursor movement, erasing, and colours.
type Screen struct {
	width    int
	lines    [][]cell
	row, col int
	style    string
	rest     []byte // an incomplete escape sequence or rune
}

// cell is a character with the parameters of its style, such as "1;31"; empty for none.
type cell struct {
	char  rune
	style string
}

// NewScreen returns an empty screen.
func NewScreen(width int) *Screen { return &Screen{width: width, lines: [][]cell{nil}} }

// Resize changes the width and keeps the content.
func (s *Screen) Resize(width int) { s.width = width }

// Write implements io.Writer.
func (s *Screen) Write(data []byte) (int, error) {
	s.rest = append(s.rest, data...)
	for len(s.rest) > 0 {
		n := s.next(s.rest)
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(data), nil
}

// next processes one character or sequence and returns its length, or 0 if it is incomplete.
func (s *Screen) next(data []byte) int {
	if data[0] == 0x1b {
		return s.escape(data)
	}
	if !utf8.FullRune(data) {
		return 0
	}
	char, n := utf8.DecodeRune(data)
	switch char {
	case '\r':
		s.col = 0
	case '\n':
		s.down()
	case '\b':
		s.col = max(0, s.col-1)
	case '\t':
		s.col = min(s.width-1, (s.col/8+1)*8)
	case '\a':
	default:
		s.put(char)
	}
	return n
}

func (s *Screen) down() {
	s.row++
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *Screen) put(char rune) {
	if s.col >= s.width {
		s.col = 0
		s.down()
	}
	line := s.lines[s.row]
	for len(line) <= s.col {
		line = append(line, cell{char: ' '})
	}
	line[s.col] = cell{char, s.style}
	s.lines[s.row] = line
	s.col++
}

// escape processes a control sequence: ESC [ parameters letter. It ignores others.
func (s *Screen) escape(data []byte) int {
	switch {
	case len(data) < 2:
		return 0
	case data[1] != '[':
		return 2
	}
	for i := 2; i < len(data); i++ {
		if data[i] >= 0x40 && data[i] <= 0x7e {
			s.control(data[i], string(data[2:i]))
			return i + 1
		}
	}
	return 0
}

func (s *Screen) control(letter byte, parameters string) {
	first, _, _ := strings.Cut(parameters, ";")
	count, err := strconv.Atoi(first)
	if err != nil {
		count = 1
	}
	switch letter {
	case 'm':
		s.style = parameters
		if parameters == "0" {
			s.style = ""
		}
	case 'A':
		s.row = max(0, s.row-count)
	case 'B':
		for range count {
			s.down()
		}
	case 'C':
		s.col = min(s.width-1, s.col+count)
	case 'D':
		s.col = max(0, s.col-count)
	case 'G':
		s.col = count - 1
	case 'K':
		s.erase(first)
	case 'J':
		s.erase(first)
		s.lines = s.lines[:s.row+1]
	}
}

// erase clears the line from the cursor on, up to the cursor ("1"), or completely ("2").
func (s *Screen) erase(what string) {
	line := s.lines[s.row]
	for i := range line {
		if what == "2" || what == "1" && i <= s.col || what != "1" && i >= s.col {
			line[i] = cell{char: ' '}
		}
	}
}

// String returns the text of the screen. Text with a style is between ⟨parameters⟩ and ⟨⟩.
func (s *Screen) String() string {
	var out strings.Builder
	for _, line := range s.lines {
		var text strings.Builder
		style := ""
		for _, c := range line {
			if c.style != style {
				text.WriteString(mark(c.style))
				style = c.style
			}
			text.WriteRune(c.char)
		}
		if style != "" {
			text.WriteString(mark(""))
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func mark(style string) string { return "⟨" + style + "⟩" }
