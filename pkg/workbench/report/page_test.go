// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// example is a page with everything that there is.
func example() *report.Page {
	rule := report.Rule{Name: "external cloud provider", Profile: "acme", At: "acme/profile.yaml:12"}
	late := report.Rule{Name: "late", Profile: "acme", At: "acme/profile.yaml:20"}
	nobody := report.Rule{Name: "no rule", Alarm: true}
	return &report.Page{
		Title:   "acme 1.0 and 1.1",
		Facts:   []report.Fact{{Name: "profile", Value: "acme"}, {Name: "shoots", Value: "2"}},
		Figures: []report.Figure{{Value: "1", Label: "object denied", Tone: report.Bad}, {Value: "2", Label: "objects changed", Tone: report.Good}},
		Sections: []report.Section{
			{Kind: "Deployment", Name: "kube-scheduler", Note: "unchanged", Rules: []report.Applied{
				{Rule: late, Outcome: report.Skipped, Reason: "the condition is false"},
			}},
			{
				Kind: "Deployment", Name: "kube-controller-manager", Note: "1 rule changed it",
				For: []string{"1.34", "1.34, ha"},
				Blocks: []report.Block{{Heading: "spec.template.spec.containers[kube-controller-manager].command", Lines: []report.Line{
					{Text: "--v=2", Folded: true}, {Op: report.Removed, Text: "--cloud-provider=acme", By: &rule},
					{Op: report.Added, Text: "--cloud-provider=external", By: &rule}, {Op: report.Same, Text: "--last", Gap: true},
				}}, {Heading: "spec", Lines: []report.Line{{Op: report.Added, Indent: 1, Text: "replicas: 2", By: &nobody}}}},
				Rules: []report.Applied{{Rule: rule, Outcome: report.Changed}, {Rule: late, Outcome: report.Overridden, Reason: "external cloud provider"}},
			},
			{Kind: "Etcd", Name: "etcd-main", Denied: "rule late:\nthere is no such class"},
		},
		Rest: []report.Names{{Heading: "Without rules", Names: []string{"Service kube-apiserver", "Service kube-scheduler"}}},
	}
}

func write(t *testing.T, page *report.Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// assets are the style, the script and their checksums, which files of their own show.
var assets = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)|sha256-[A-Za-z0-9/=]+(&#43;[A-Za-z0-9/=]+)*`)

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		page *report.Page
	}{{"example", example()}, {"empty", &report.Page{Title: "Nothing"}}} {
		t.Run(c.name, func(t *testing.T) {
			got := write(t, c.page)
			golden.Compare(t, filepath.Join("testdata", c.name+".html"), assets.ReplaceAllString(got, "$1$2$3$4"))
			if write(t, c.page) != got {
				t.Error("the page is not reproducible")
			}
		})
	}
}

// TestWriteLeavesThePage checks that writing does not reorder the caller's data.
func TestWriteLeavesThePage(t *testing.T) {
	page := example()
	write(t, page)
	if page.Sections[0].Name != "kube-scheduler" {
		t.Errorf("the first section is now %s", page.Sections[0].Name)
	}
}

// TestWriteEscapes puts a hostile text into every field.
func TestWriteEscapes(t *testing.T) {
	const hostile = `</style></script><script>alert(1)</script>"'><img src=x onerror=alert(1)>{{.}}javascript:`
	page := example()
	spoil(reflect.ValueOf(page).Elem(), hostile)
	got := assets.ReplaceAllString(write(t, page), "$1$2$3$4")
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

// TestWriteLoadsNothing checks that the file contains no addresses.
func TestWriteLoadsNothing(t *testing.T) {
	got := write(t, example())
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

// TestWriteLinks checks that the targets of links exist.
func TestWriteLinks(t *testing.T) {
	got := write(t, example())
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(got, -1) {
		if strings.Count(got, `id="`+link[1]+`"`) != 1 {
			t.Errorf("want exactly one element with the id %q", link[1])
		}
	}
}

func BenchmarkWrite(b *testing.B) {
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
