// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// example is a page with everything that there is.
func example() *render.Page {
	rule := mutation.Applied{
		Rule: "external cloud provider", Profile: "acme", Position: source.Position{File: "acme/profile.yaml", Line: 12}, Outcome: mutation.Changed,
	}
	late := mutation.Applied{
		Rule: "late", Profile: "acme", Position: source.Position{File: "acme/profile.yaml", Line: 20},
		Outcome: mutation.Skipped, Reason: "the condition is false",
	}
	overridden := late
	overridden.Outcome, overridden.Reason = mutation.Overridden, "external cloud provider"
	by, nobody := render.AuthorOf(rule), render.NoRule
	row := func(op render.Op, text string, by *render.Author) render.Row {
		return render.Row{Edit: render.Edit{Op: op, Line: render.Line{Text: text}, By: by}}
	}
	folded, gap, indented := row(render.Same, "--v=2", nil), row(render.Same, "--last", nil), row(render.Added, "replicas: 2", &nobody)
	folded.Folded, gap.Gap, indented.Indent = true, true, 1
	return &render.Page{
		Title:   "acme 1.0 and 1.1",
		Facts:   []render.Fact{{Name: "profile", Value: "acme"}, {Name: "shoots", Value: "2"}},
		Figures: []render.Figure{{Value: "1", Label: "object denied", Tone: "bad"}, {Value: "2", Label: "objects changed", Tone: "good"}},
		Sections: []render.PageSection{
			{Kind: "Deployment", Name: "kube-scheduler", Note: "unchanged", Rules: []mutation.Applied{late}},
			{
				Kind: "Deployment", Name: "kube-controller-manager", Note: "1 rule changed it",
				For: []string{"1.34", "1.34, ha"}, Added: 2, Removed: 1,
				Blocks: []render.Section{{Path: "spec.template.spec.containers[kube-controller-manager].command", Rows: []render.Row{
					folded, row(render.Removed, "--cloud-provider=acme", &by), row(render.Added, "--cloud-provider=external", &by), gap,
				}}, {Path: "spec", Rows: []render.Row{indented}}},
				Rules: []mutation.Applied{rule, overridden},
			},
			{Kind: "Etcd", Name: "etcd-main", Denied: "rule late:\nthere is no such class"},
		},
		Rest: []render.NameList{{Heading: "Unchanged, without rules", Names: []string{"Service kube-apiserver", "Service kube-scheduler"}}},
	}
}

func writePage(t *testing.T, page *render.Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPageWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		page *render.Page
	}{{"example", example()}, {"empty", &render.Page{Title: "Nothing"}}} {
		t.Run(c.name, func(t *testing.T) {
			got := writePage(t, c.page)
			golden.Compare(t, filepath.Join("testdata", "page", c.name+".html"), assets.ReplaceAllString(got, "$1$2$3$4"))
			if writePage(t, c.page) != got {
				t.Error("the page is not reproducible")
			}
		})
	}
}

// TestPageLeavesThePage checks that writing does not reorder the caller's data.
func TestPageLeavesThePage(t *testing.T) {
	page := example()
	writePage(t, page)
	if page.Sections[0].Name != "kube-scheduler" {
		t.Errorf("the first section is now %s", page.Sections[0].Name)
	}
}

// TestPageEscapes puts a hostile text into every field.
func TestPageEscapes(t *testing.T) {
	const hostile = `</style></script><script>alert(1)</script>"'><img src=x onerror=alert(1)>{{.}}javascript:`
	page := example()
	spoil(reflect.ValueOf(page).Elem(), hostile)
	got := assets.ReplaceAllString(writePage(t, page), "$1$2$3$4")
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("want one script, got %d", n)
	}
	for _, telltale := range []string{"<img", "alert(1)<", `"'>`, "</style></script>"} {
		if strings.Contains(got, telltale) {
			t.Errorf("%q is not escaped", telltale)
		}
	}
	for _, attribute := range regexp.MustCompile(`<[a-z0-9]+ [^>]*`).FindAllString(got, -1) {
		if strings.Contains(attribute, "alert") && !strings.Contains(attribute, "&lt;script") {
			t.Errorf("an attribute holds the text: %s", attribute)
		}
	}
}

// spoil adds a prefix to every text except keys, at any depth.
func spoil(value reflect.Value, text string) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text + value.String())
	case reflect.Pointer:
		if !value.IsNil() {
			spoil(value.Elem(), text)
		}
	case reflect.Slice:
		for i := range value.Len() {
			spoil(value.Index(i), text)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			spoil(value.Field(i), text)
		}
	}
}

// TestPageLoadsNothing checks that the file contains no addresses.
func TestPageLoadsNothing(t *testing.T) {
	got := writePage(t, example())
	for _, telltale := range []string{"http:", "https:", "@import", "url(", " src=", "fetch(", "XMLHttpRequest"} {
		if strings.Contains(got, telltale) {
			t.Errorf("the page has %q", telltale)
		}
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(got, -1) {
		if link[1] != "data:," && !strings.HasPrefix(link[1], "#") {
			t.Errorf("the page leads to %q", link[1])
		}
	}
	if !strings.Contains(got, "default-src &#39;none&#39;") {
		t.Error("the page has no Content-Security-Policy that forbids everything else")
	}
}

// TestPageLinks checks that the targets of links exist.
func TestPageLinks(t *testing.T) {
	got := writePage(t, example())
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(got, -1) {
		if strings.Count(got, `id="`+link[1]+`"`) != 1 {
			t.Errorf("want exactly one element with the id %q", link[1])
		}
	}
}

func BenchmarkPage(b *testing.B) {
	page := example()
	for range 200 {
		page.Sections = append(page.Sections, page.Sections[1])
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := page.Write(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
