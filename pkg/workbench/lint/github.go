// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// writeGitHub writes workflow commands, which GitHub Actions shows as annotations of the lines (docs.github.com, "Workflow commands for GitHub
// Actions"): ::error file=…,line=…,endLine=…,col=…,endColumn=…,title=…::message.
func (r *Report) writeGitHub(w io.Writer) error {
	for _, f := range r.Findings {
		properties := []string{"file=" + escapeProperty(f.File)}
		if f.Line > 0 {
			begin, end := r.texts[f.File].span(f.Position)
			properties = append(properties, fmt.Sprintf("line=%d", f.Line), fmt.Sprintf("endLine=%d", f.Line),
				fmt.Sprintf("col=%d", begin), fmt.Sprintf("endColumn=%d", end))
		}
		if f.Rule != "" {
			properties = append(properties, "title="+escapeProperty("graft lint: "+string(f.Rule)))
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), escapeData(sentence(f)+more(f.Rule))); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// more is where a rule is explained.
func more(rule source.Rule) string {
	if page := PageOf(rule); page != nil {
		return "\n" + page.URL()
	}
	return ""
}

// escapeData writes a text as the message of a command.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeProperty writes a text as the value of a property.
func escapeProperty(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
