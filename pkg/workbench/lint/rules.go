// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// home is the URL of the project's files.
const home = "https://github.com/graft-provider/gardener-extension-provider-graft"

//go:embed rules/*.yaml
var files embed.FS

// Page explains a rule.
type Page struct {
	Rule source.LintRule `json:"-"`
	// Summary describes the finding in one sentence.
	Summary string `json:"summary"`
	// Why describes the consequences, and the required action.
	Why string `json:"why"`
	// Warning reports that the findings are warnings; Both that some are.
	Warning bool `json:"warning"`
	Both    bool `json:"both"`
	// Fix describes the effect of --fix; empty means that there is no fix.
	Fix string `json:"fix"`
	// Bad is a document with such a finding, Good one without. Without a header, they get the header of a profile.
	Bad  string `json:"bad"`
	Good string `json:"good"`
	// Files maps paths to files next to the documents.
	Files map[string]string `json:"files"`
}

// Pages returns the pages of all rules, sorted by rule.
var Pages = sync.OnceValue(func() []*Page {
	names, _ := fs.Glob(files, "rules/*.yaml") // the pattern is valid
	all := make([]*Page, len(names))
	for i, name := range names {
		data, _ := files.ReadFile(name) // the file is part of the program
		all[i] = &Page{Rule: source.LintRule(strings.TrimSuffix(path.Base(name), ".yaml"))}
		if err := yaml.UnmarshalStrict(data, all[i]); err != nil {
			panic(fmt.Errorf("reading the page of the rule %s: %w", all[i].Rule, err)) // a bug, which every test finds
		}
	}
	return all
})

// PageOf returns the page of a rule, or nil.
func PageOf(rule source.LintRule) *Page {
	for _, page := range Pages() {
		if page.Rule == rule {
			return page
		}
	}
	return nil
}

// URL returns the address of the page.
func (p *Page) URL() string { return fmt.Sprintf("%s/blob/main/docs/lint/%s.md", home, p.Rule) }

// Severity returns the severity of the findings, or the higher one if there are two.
func (p *Page) Severity() string {
	if p.Warning {
		return source.Warning.String()
	}
	return source.Error.String()
}

// severities describes the severity of the findings.
func (p *Page) severities() string {
	if p.Both {
		return "error or warning"
	}
	return p.Severity()
}

// header precedes examples without one.
const header = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
`

// ownHeader matches fields that occur only in documents with their own header, or a word that excludes a header.
var ownHeader = regexp.MustCompile(`\b(apiVersion|kind): (graft|Provider)`)

// example returns an example as a file with a header.
func (p *Page) example(text string) Input {
	if !ownHeader.MatchString(text) {
		text = header + text
	}
	file := source.File{Name: "profile.yaml", Data: []byte(text), Attachments: map[string][]byte{}}
	for name, content := range p.Files {
		file.Attachments[name] = []byte(content)
	}
	return Input{File: file}
}

// Markdown returns the page as Markdown.
func (p *Page) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nFor profile authors: fix this finding.\n\n%s\n\n%s\n\nSeverity: %s.",
		p.Rule, p.Summary, strings.TrimSpace(p.Why), p.severities())
	if p.Fix != "" {
		fmt.Fprintf(&out, " `graft lint --fix` %s", p.Fix)
	}
	fmt.Fprintf(&out, "\n\n## Wrong\n\n```yaml\n%s```\n\n```text\n%s```\n\n## Right\n\n```yaml\n%s```\n", p.Bad, p.output(), p.Good)
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		fmt.Fprintf(&out, "\nWith the file `%s`:\n\n```yaml\n%s```\n", name, p.Files[name])
	}
	return out.String()
}

// help returns the page for viewers of reports, which display it next to the findings.
func (p *Page) help() string {
	return fmt.Sprintf("%s\n\n%s\n\n```yaml\n%s```\n\n[%s](%s)\n", p.Summary, p.why(), p.Good, p.Rule, p.URL())
}

// output returns the output of lint for the invalid example.
func (p *Page) output() string {
	report := Run(Options{}, []Input{p.example(p.Bad)})
	var out strings.Builder
	_ = report.writeText(&out, Style{}) // a strings.Builder takes everything
	text, _, _ := strings.Cut(out.String(), "\n\n")
	return text + "\n"
}

// Text returns the page for a terminal.
func (p *Page) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s (%s)\n\n%s\n\n%s\n\nWrong:\n\n%s\nRight:\n\n%s", p.Rule, p.severities(), p.Summary, p.why(),
		indent(p.Bad), indent(p.Good))
	if p.Fix != "" {
		fmt.Fprintf(&out, "\n`graft lint --fix` %s\n", p.Fix)
	}
	fmt.Fprintf(&out, "\n%s\n", p.URL())
	return out.String()
}

// links matches links in Markdown; a terminal displays only their text.
var links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

func (p *Page) why() string { return links.ReplaceAllString(strings.TrimSpace(p.Why), "$1") }

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// Index returns the page that lists all rules.
func Index() string {
	var out strings.Builder
	out.WriteString("# Lint rules\n\nFor authors of profiles. Find the rule of a finding here, read why it matters, " +
		"and see a wrong and a right\nexample. `graft lint --explain <rule>` prints a page. `--fix` applies the fixes of the rules " +
		"that have it in brackets.\n\n")
	for _, p := range Pages() {
		details := p.severities()
		if p.Fix != "" {
			details += ", `--fix`"
		}
		head, separator := fmt.Sprintf("- [%s](%s.md) (%s):", p.Rule, p.Rule, details), " "
		if len(head)+len(p.Summary) >= 120 {
			separator = "\n  "
		}
		out.WriteString(head + separator + p.Summary + "\n")
	}
	return out.String()
}
