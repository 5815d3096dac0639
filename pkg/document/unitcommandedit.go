// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"
	"strings"
)

// edit makes the occurrences of a flag what is wanted. It plans on a copy of the words, as CommandLine does, and
// changes the unit only if all other words are read from the new text as before.
func (c *UnitCommand) edit(what, name string, wanted []want) error {
	fail := func(err error) error { return fmt.Errorf("%s flag --%s of %s: %w", what, name, c.option, err) }
	if !writableFlag(name, wanted) || slices.ContainsFunc(wanted, func(w want) bool { return strings.Contains(w.value, "\x00") }) {
		return fail(ErrFlag)
	}
	if err := c.refresh(); err != nil {
		return fail(err)
	}
	p := plan{name: normalize(name), end: c.behindFlags()}
	for _, f := range c.flags {
		if f.name == p.name {
			p.found = append(p.found, f)
		}
	}
	if slices.EqualFunc(wanted, p.found, want.holds) {
		return nil
	}
	room := c.unit.room.tokens.take(len(c.tokens) + len(wanted))
	p.tokens = room[:copy(room, c.tokens)]
	p.make(name, wanted)
	if err := c.write(&p, wanted); err != nil {
		return fail(err)
	}
	return nil
}

// behindFlags returns the index of the word that a new flag goes in front of: the one behind the last flag, or
// without flags the first of the variables at the end.
func (c *UnitCommand) behindFlags() int {
	if n := len(c.flags); n > 0 {
		last := c.flags[n-1]
		if last.form == spaced {
			return last.at + 2
		}
		return last.at + 1
	}
	end := c.end
	for end > 1 && c.tokens[end-1].text == "" && isSplit(c.words[end-1].text) {
		end--
	}
	return end
}

// write splices the words into the unit, unless they would not be read as planned.
func (c *UnitCommand) write(p *plan, wanted []want) error {
	u, old := c.unit, c.unit.lines[c.line]
	inside := c.commentsInside(p.tokens)
	text := c.compose(inside, p.tokens)
	delta := len(text) - len(u.text)
	now, kind := scanUnitLine(text, old.start+len(inside))
	if kind != goodLine || !isBlankText(text, now.end, old.end+delta) {
		return ErrAmbiguous
	}
	next, err := c.scan(text, &now)
	if err != nil || !c.planned(p.tokens, next.words) || !p.keeps(c.flags, next.flags, wanted) {
		return ErrAmbiguous
	}
	now.section = old.section
	u.text, u.lines[c.line] = text, now
	for i := c.line + 1; i < len(u.lines); i++ {
		u.lines[i].move(delta)
	}
	u.version++
	c.swap(next)
	return nil
}

// planned reports whether words are those of a plan.
func (c *UnitCommand) planned(tokens []token, words []word) bool {
	for _, t := range tokens {
		if t.state == dropped {
			continue
		}
		text := t.text
		if t.state == kept {
			text = c.words[t.index].text
		}
		if len(words) == 0 || words[0].text != text {
			return false
		}
		words = words[1:]
	}
	return len(words) == 0
}

// isBlankText reports whether all lines between two offsets are blank or comments.
func isBlankText(text string, at, end int) bool {
	for at < end {
		l, kind := scanUnitLine(text, at)
		if kind != blankLine {
			return false
		}
		at = l.end
	}
	return at == end
}

func (l *unitLine) move(delta int) {
	l.start, l.end, l.first, l.last = l.start+delta, l.end+delta, l.first+delta, l.last+delta
}

// commentsInside returns the comments between the lines of words that are dropped or written anew. They go in front.
func (c *UnitCommand) commentsInside(planned []token) string {
	var out strings.Builder
	for _, t := range planned {
		if t.state == rewritten || t.state == dropped {
			w := c.words[t.index]
			out.WriteString(commentsIn(c.unit.text, w.start, w.end))
		}
	}
	return out.String()
}

// compose writes the unit with these words and what stands between them, and with a text in front of the assignment.
func (c *UnitCommand) compose(inside string, planned []token) string {
	var out strings.Builder
	const added = 256 // by the usual edit
	out.Grow(len(c.unit.text) + len(inside) + added)
	begin := c.unit.lines[c.line].start
	out.WriteString(c.unit.text[:begin])
	out.WriteString(inside)
	out.WriteString(c.unit.text[begin:c.words[0].start])
	style, gap := c.style(), ""
	for _, t := range planned {
		if t.state == fresh {
			out.WriteString(style)
			out.WriteString(quoteWord(t.text))
			continue
		}
		w, next := c.words[t.index], c.gap(int(t.index)+1)
		if t.state == dropped {
			gap = mergeGaps(gap, next, int(t.index)+1 == len(c.words))
			continue
		}
		raw := c.unit.text[w.start:w.end]
		if t.state == rewritten {
			raw = quoteWord(t.text)
		} else if isUnitComment(raw[0]) && breaksLine(gap) {
			raw = quoteWord(w.text) // It has come to the beginning of a line, where it would be a comment.
		}
		out.WriteString(gap)
		out.WriteString(raw)
		gap = next
	}
	out.WriteString(gap)
	out.WriteString(c.unit.text[c.unit.lines[c.line].end:])
	return out.String()
}

// gap returns what stands between two words, in front of the word with an index; behind the last one, it is what
// stands up to the end of the assignment.
func (c *UnitCommand) gap(i int) string {
	switch {
	case i == 0:
		return ""
	case i < len(c.words):
		return c.unit.text[c.words[i-1].end:c.words[i].start]
	default:
		return c.unit.text[c.words[i-1].end:c.unit.lines[c.line].end]
	}
}

// style returns what goes in front of a new flag: a line with the indentation of the last flag if that begins a line.
func (c *UnitCommand) style() string {
	i := c.behindFlags()
	if n := len(c.flags); n > 0 {
		i = c.flags[n-1].at
	} else if i == len(c.words) {
		return " "
	}
	gap := c.gap(i)
	if !breaksLine(gap) {
		return " "
	}
	return gap[:firstLine(gap)] + gap[lastLine(gap):]
}

// mergeGaps returns what stays of the gaps around a word that is dropped. A line that it had for itself goes.
func mergeGaps(before, after string, tail bool) string {
	switch {
	case !breaksLine(before):
		return after
	case tail && !strings.Contains(after, `\`):
		return endCommand(before, breaksLine(after))
	case !breaksLine(after):
		return before
	default:
		return before[:lastLine(before)] + after[firstLine(after):]
	}
}

// endCommand returns what stays behind the command if the words behind a gap are gone: the end of its line and the
// comments, without the backslash.
func endCommand(gap string, ended bool) string {
	end, next := endOfLine(gap, 0)
	left := gap[end:next] + commentsIn(gap, 0, len(gap))
	if ended {
		return left
	}
	return strings.TrimSuffix(left, gap[end:next])
}

func breaksLine(gap string) bool { return strings.ContainsAny(gap, "\r\n") }

// firstLine returns where the second line of a gap begins.
func firstLine(gap string) int {
	_, next := endOfLine(gap, 0)
	return next
}

// lastLine returns where the last line of a gap begins.
func lastLine(gap string) int { return strings.LastIndexAny(gap, "\r\n") + 1 }
