// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	_ "embed" // for the style, the script and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
)

//go:embed assets/page.css
var style string

//go:embed assets/page.js
var script string

//go:embed assets/page.gohtml
var markup string

// parsed is read once, and only when a report is written.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"spaces": func(n int) string { return strings.Repeat("  ", n) },
		"depth":  func(n int) int { return min(n, deepest) },
		"lines":  func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") },
		"count":  count,
	}).Parse(markup)
})

// deepest is the maximum indentation with a class in the style sheet.
const deepest = 12

// Write writes the page as one HTML file.
func (p *Page) Write(w io.Writer) error {
	page, err := parsed()
	if err != nil {
		return fmt.Errorf("reading the report's template: %w", err)
	}
	v := viewOf(p)
	v.CSS, v.JS = template.CSS(style), template.JS(script) //nolint:gosec // they are files of this package
	v.Policy = policy()
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// policy lets the page load nothing, and run and apply nothing but its own script and style.
func policy() string {
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// hash returns the hash of a text for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
