// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Style is how a report is written.
type Style struct {
	// Colour allows colours.
	Colour bool
	// Width is that of the terminal in characters; 0: lines are cut at 120.
	Width int
	// Version is that of the program, for SARIF.
	Version string
}

// Formats are the formats of reports.
var Formats = []string{"text", "line", "json", "sarif"}

// Write writes the report in one of the formats.
func (r *Report) Write(w io.Writer, format string, style Style) error {
	switch format {
	case "line":
		return r.writeLines(w)
	case "json":
		return r.writeJSON(w)
	case "sarif":
		return r.writeSARIF(w, style)
	default:
		return r.writeText(w, style)
	}
}

// writeLines writes one finding a line: place, severity, field, message and rule.
func (r *Report) writeLines(w io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%s: %s: %s%s\n", f.Position, f.Severity, sentence(f), tag(f.Rule)); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// sentence returns the field and the message.
func sentence(f source.Finding) string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

func tag(rule source.Rule) string {
	if rule == "" {
		return ""
	}
	return " [" + string(rule) + "]"
}
