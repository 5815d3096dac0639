// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// home is the URL of the project's files.
const home = "https://github.com/graft-provider/gardener-extension-provider-graft"

// folderOfPages is the folder with the pages of rules.
const folderOfPages = "docs/lint"

//go:embed rules/*.yaml
var files embed.FS

// Page explains a rule.
type Page struct {
	Rule source.Rule `yaml:"-"`
	// Summary describes the finding in one sentence.
	Summary string `yaml:"summary"`
	// Why describes the consequences, and the required action.
	Why string `yaml:"why"`
	// Warning reports that the findings are warnings; Both that some are.
	Warning bool `yaml:"warning"`
	Both    bool `yaml:"both"`
	// Fix describes the effect of --fix; empty means that there is no fix.
	Fix string `yaml:"fix"`
	// Bad is a document with such a finding, Good one without. Without a header, they get the header of a profile.
	Bad  string `yaml:"bad"`
	Good string `yaml:"good"`
	// Files maps paths to files next to the documents.
	Files map[string]string `yaml:"files"`
}

var pages = sync.OnceValues(func() ([]*Page, error) {
	names, err := fs.Glob(files, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Page
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		page := &Page{Rule: source.Rule(strings.TrimSuffix(strings.TrimPrefix(name, "rules/"), ".yaml"))}
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		if err := decoder.Decode(page); err != nil {
			return nil, fmt.Errorf("reading the page of the rule %s: %w", page.Rule, err)
		}
		all = append(all, page)
	}
	return all, nil
})

// Pages returns the pages of all rules, sorted by rule. It fails if an embedded page is invalid.
func Pages() ([]*Page, error) { return pages() }

// PageOf returns the page of a rule, or nil.
func PageOf(rule source.Rule) *Page {
	all, _ := pages()
	if i := slices.IndexFunc(all, func(p *Page) bool { return p.Rule == rule }); i >= 0 {
		return all[i]
	}
	return nil
}

// URL returns the address of the page.
func (p *Page) URL() string { return fmt.Sprintf("%s/blob/main/%s/%s.md", home, folderOfPages, p.Rule) }

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

// headOfExamples precedes examples without a head.
const headOfExamples = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
`

// head matches fields that occur only in documents with their own head, or a word that excludes a head.
var head = regexp.MustCompile(`\b(apiVersion|kind): (graft|Provider)`)

// wholeDocument returns an example with its head.
func wholeDocument(example string) string {
	if head.MatchString(example) {
		return example
	}
	return headOfExamples + example
}

// exampleFile is the name of an example in the pages.
const exampleFile = "profile.yaml"

// example returns an example as a file.
func (p *Page) example(text string) Input {
	file := source.File{Name: exampleFile, Data: []byte(wholeDocument(text))}
	for name, content := range p.Files {
		if file.Attachments == nil {
			file.Attachments = map[string][]byte{}
		}
		file.Attachments[name] = []byte(content)
	}
	return Input{File: file}
}

// Markdown returns the page as Markdown.
func (p *Page) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\nFor profile authors: fix this finding.\n\n%s\n\n%s\n", p.Rule, p.Summary, strings.TrimSpace(p.Why))
	fmt.Fprintf(&out, "\nSeverity: %s.", p.severities())
	if p.Fix != "" {
		fmt.Fprintf(&out, " `graft lint --fix` %s", p.Fix)
	}
	out.WriteString("\n")
	fmt.Fprintf(&out, "\n## Wrong\n\n```yaml\n%s```\n", p.Bad)
	fmt.Fprintf(&out, "\n```text\n%s```\n", p.output())
	fmt.Fprintf(&out, "\n## Right\n\n```yaml\n%s```\n", p.Good)
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
	return strings.TrimSuffix(text, "\n") + "\n"
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
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("    " + line)
	}
	return out.String()
}

// Index returns the page that lists all rules. It fails if an embedded page is invalid.
func Index() (string, error) {
	all, err := pages()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("# Lint rules\n\nFor authors of profiles. Find the rule of a finding here, read why it matters, " +
		"and see a wrong and a right\nexample. `graft lint --explain <rule>` prints a page.\n\n")
	out.WriteString("| rule | severity | fix | |\n|---|---|---|---|\n")
	for _, p := range all {
		fix := ""
		if p.Fix != "" {
			fix = "`--fix`"
		}
		fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s | %s |\n", p.Rule, p.Rule, p.severities(), fix, strings.ReplaceAll(p.Summary, "|", `\|`))
	}
	return out.String(), nil
}
