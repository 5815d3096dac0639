// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for the style, the script and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// Page is the content of a self-contained HTML file: it loads no resources, works without JavaScript, on phones and on
// paper, and the same Page produces the same bytes. All texts are escaped. Empty fields are omitted.
type Page struct {
	// Title is the heading and the title of the browser's tab.
	Title string
	// Facts describes the input, such as the profile and the version of Kubernetes.
	Facts []Fact
	// Figures lists the most important numbers, such as the number of denied objects.
	Figures []Figure
	// Sections are displayed with denied ones first, then changed ones, then the rest; otherwise in their order.
	Sections []PageSection
	// Rest lists the objects that are shown by name only.
	Rest []NameList
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a highlighted number. Its tone is the name of a class: good, bad, or empty.
type Figure struct{ Value, Label, Tone string }

// NameList is names under a heading.
type NameList struct {
	Heading string
	Names   []string
}

// PageSection is one object, or one change that several have in common.
type PageSection struct {
	// Kind and Name form the title, such as "Deployment" and "kube-apiserver"; Note is a short description of the
	// result next to it.
	Kind, Name, Note string
	// Denied is why the object was denied, in lines; empty where it was not.
	Denied string
	// For lists the affected ones, such as shoots; empty if there is only one.
	For []string
	// Added and Removed are the numbers of changed lines.
	Added, Removed int
	// Blocks are the changed lines; a section without any is shown folded.
	Blocks []Section
	// Rules lists the rules involved, in the order of their application.
	Rules []mutation.Applied
}

// State returns the state of the object, which is also the name of a class.
func (s PageSection) State() string { return []string{"denied", "changed", "same"}[s.rank()] }

func (s PageSection) rank() int {
	switch {
	case s.Denied != "":
		return 0
	case len(s.Blocks) > 0:
		return 1
	default:
		return 2
	}
}

// Rules returns the labels of the rules in all sections, sorted.
func (p *Page) Rules() []string {
	var labels []string
	for _, section := range p.Sections {
		for _, applied := range section.Rules {
			labels = append(labels, AuthorOf(applied).Label())
		}
		for _, block := range section.Blocks {
			for _, row := range block.Rows {
				if row.By != nil {
					labels = append(labels, row.By.Label())
				}
			}
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// Place returns the file and the line of the rule, or an empty string if there is no rule.
func (a Author) Place() string {
	if a.Position.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", a.Position.File, a.Position.Line)
}

// Label returns the name and the place of the rule.
func (a Author) Label() string {
	if a.Place() == "" {
		return a.Rule
	}
	return a.Rule + " (" + a.Place() + ")"
}

// Alarm reports that there is no rule.
func (a Author) Alarm() bool { return a == NoRule }

// Page returns the page of the changes; the caller may add to it.
func (s Style) Page(changes ...*Change) *Page {
	s = s.withDefaults()
	page := &Page{Title: cmp.Or(s.Title, defaultTitle), Facts: s.About}
	var n Summary
	for _, change := range changes {
		n.add(change, change.Differs(""))
		if change.idle() {
			page.Rest = addName(page.Rest, change)
		} else {
			page.Sections = addSection(page.Sections, s.pageSection(change))
		}
	}
	if n.Denied > 0 {
		page.Figures = append(page.Figures, figure(n.Denied, "object denied", "objects denied", "bad"))
	}
	page.Figures = append(page.Figures, figure(n.Changed, "object changed", "objects changed", "good"),
		figure(n.Unchanged, "object unchanged", "objects unchanged", ""))
	if len(s.Notes) > 0 {
		page.Rest = append(page.Rest, NameList{Heading: "Notes", Names: s.Notes})
	}
	return page
}

func figure(n int, one, many, tone string) Figure {
	if n == 1 {
		many = one
	}
	return Figure{Value: fmt.Sprint(n), Label: many, Tone: tone}
}

// addSection adds a section, or adds its snapshot to an equal section of another snapshot.
func addSection(sections []PageSection, added PageSection) []PageSection {
	snapshots := added.For
	for i := range sections {
		if sections[i].Kind != added.Kind || sections[i].Name != added.Name || len(snapshots) == 0 {
			continue
		}
		if added.For = sections[i].For; reflect.DeepEqual(sections[i], added) {
			sections[i].For = append(sections[i].For, snapshots...)
			return sections
		}
	}
	added.For = snapshots
	return append(sections, added)
}

// addName adds an object to the list of those without rules, grouped by snapshot.
func addName(rest []NameList, c *Change) []NameList {
	heading := "Unchanged, without rules"
	if c.ControlPlane != "" {
		heading = "Unchanged in " + c.ControlPlane + ", without rules"
	}
	if last := len(rest) - 1; last < 0 || rest[last].Heading != heading {
		rest = append(rest, NameList{Heading: heading})
	}
	last := &rest[len(rest)-1]
	last.Names = append(last.Names, c.title())
	return rest
}

// pageSection returns a change as a section of a page.
func (s Style) pageSection(c *Change) PageSection {
	section := PageSection{Kind: c.Kind, Name: c.Name, Note: unchanged(c), Blocks: s.sections(c), Rules: slices.Clone(c.Applied)}
	section.Added, section.Removed = c.size()
	if c.ControlPlane != "" {
		section.For = []string{c.ControlPlane}
	}
	section.For = append(section.For, c.Shoots...)
	if c.Denied != nil {
		section.Denied, section.Note = c.Denial(), c.Note
	}
	if len(section.Blocks) > 0 {
		section.Note = summary(c)
	}
	for i := range section.Rules {
		if position := &section.Rules[i].Position; position.File != "" {
			position.File = s.File(position.File)
		}
	}
	for _, block := range section.Blocks {
		for i, row := range block.Rows {
			if row.By != nil && row.By.Position.File != "" {
				by := *row.By
				by.Position.File = s.File(by.Position.File)
				block.Rows[i].By = &by
			}
		}
	}
	return section
}

//go:embed assets/page.css
var pageStyle string

//go:embed assets/page.js
var pageScript string

//go:embed assets/page.gohtml
var pageTemplate string

// parsedPage is read once, and only when a page is written.
var parsedPage = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"spaces":   func(n int) string { return strings.Repeat("  ", n) },
		"depth":    func(n int) int { return min(n, deepest) },
		"lines":    func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") },
		"count":    Count,
		"id":       func(i int) string { return fmt.Sprintf("s%d", i+1) },
		"authorOf": AuthorOf,
	}).Parse(pageTemplate)
})

// deepest is the maximum indentation with a class in the style sheet.
const deepest = 12

// HTML writes the changes as a page. It fails if w cannot be written.
func (s Style) HTML(w io.Writer, changes ...*Change) error { return s.Page(changes...).Write(w) }

// Write writes the page as one HTML file. It fails if w cannot be written.
func (p *Page) Write(w io.Writer) error {
	parsed, err := parsedPage()
	if err != nil {
		return fmt.Errorf("reading the report's template: %w", err)
	}
	ordered := *p
	ordered.Sections = slices.SortedStableFunc(slices.Values(p.Sections), func(a, b PageSection) int { return cmp.Compare(a.rank(), b.rank()) })
	// The page must not load anything, nor use other scripts and styles than its own.
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		policyHash(pageStyle), policyHash(pageScript))
	if err := parsed.Execute(w, map[string]any{
		"Page": &ordered, "Policy": policy, "CSS": template.CSS(pageStyle), "JS": template.JS(pageScript), //nolint:gosec // they are files of this package
	}); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// policyHash returns the hash of a text for a Content-Security-Policy.
func policyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Count returns a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
