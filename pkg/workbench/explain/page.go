// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

// Page says what something is.
type Page struct {
	// Heads say what the page is about: KIND, FIELD and so on.
	Heads []Head `json:"heads,omitempty"`
	// Text is what it is, in sentences.
	Text     string    `json:"text,omitempty"`
	Sections []Section `json:"sections,omitempty"`
}

// Head is a line at the top.
type Head struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Section is a part of a page.
type Section struct {
	Title string `json:"title"`
	// Rows are what there is, each with what it is.
	Rows []Row `json:"rows,omitempty"`
	// Text is in sentences, or a list of names.
	Text string `json:"text,omitempty"`
	// Lines are to be read as they are, such as an example.
	Lines []string `json:"lines,omitempty"`
}

// Row is a line about one of several things.
type Row struct {
	Name string `json:"name"`
	// Type is what may stand there; empty where that says nothing.
	Type     string `json:"type,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Computed says that ${ CEL } is evaluated in it.
	Computed bool   `json:"computed,omitempty"`
	Text     string `json:"text,omitempty"`
}

// section adds a section, unless it is empty.
func (p *Page) section(s Section) {
	if len(s.Rows) > 0 || len(s.Lines) > 0 || s.Text != "" {
		p.Sections = append(p.Sections, s)
	}
}
