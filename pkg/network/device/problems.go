// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"
	"strings"
)

// Problem is a mistake in one field.
type Problem struct {
	// Field is its path, such as routes[1].gateway.
	Field   string
	Message string
}

// Problems lists all mistakes of a document as one error.
type Problems []Problem

// Error returns all problems on one line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Field + ": " + problem.Message
	}
	return strings.Join(lines, "; ")
}

// err returns nil if there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(field, format string, values ...any) {
	*p = append(*p, Problem{field, fmt.Sprintf(format, values...)})
}

// longest bounds how much of a value that was written is said in a message.
const longest = 64

// quote returns a value in quotes, shortened if necessary.
func quote(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
