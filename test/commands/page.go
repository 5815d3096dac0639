// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block of a Markdown page.
type Block struct {
	// Language is the first word after the fence. File is the second word: the path of the file with this content.
	Language, File string
	// Text is the content without the indentation of the fence, each line with its newline.
	Text string
	// Line is the number of the line with the fence, from 1.
	Line int

	indent string
	end    int // index of the line with the closing fence
}

// fence opens or closes a block: indentation, backquotes and info string.
var fence = regexp.MustCompile("^([ ]*)(```+|~~~+)[ ]*([^`]*)$")

// Blocks returns the fenced blocks of a page. It fails for a fence that is not closed.
func Blocks(page string) ([]Block, error) {
	var (
		out  []Block
		open *Block
		mark string
	)
	for i, line := range strings.Split(page, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open == nil && found != nil:
			mark = found[2]
			words := append(strings.Fields(found[3]), "", "")
			open = &Block{Language: words[0], File: words[1], Line: i + 1, indent: found[1]}
		case open != nil && found != nil && found[3] == "" && strings.HasPrefix(found[2], mark):
			open.end = i
			out = append(out, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, open.indent) + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("the block in line %d has no end", open.Line)
	}
	return out, nil
}

// Replace returns the page with other texts in some of its blocks.
func Replace(page string, blocks []Block, texts map[int]string) string {
	lines := strings.Split(page, "\n")
	var out []string
	next := 0
	for _, block := range blocks {
		text, changed := texts[block.Line]
		if !changed {
			continue
		}
		out = append(out, lines[next:block.Line]...)
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			out = append(out, strings.TrimRight(block.indent+line, " "))
		}
		next = block.end
	}
	return strings.Join(append(out, lines[next:]...), "\n")
}
