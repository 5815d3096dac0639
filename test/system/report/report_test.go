//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package report_test shows HTML reports of real changes to a real Chromium, on a phone and on a desktop, in light and
// dark. It needs chromium (hack/system/packages.txt); `make test-system` installs it. With -update it writes the
// pictures of docs/images.
package report_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/chromium"
)

// limit is how long a spec may take.
const limit = 2 * time.Minute

var (
	browser *chromium.Browser
	// paths are the files of the reports, by name.
	paths = map[string]string{"diff": "", "compare": "", "hostile": ""}
)

func TestReport(t *testing.T) { suite.Run(t, "report") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	// The browser outlives the context of this node.
	browser, err = chromium.Start(GinkgoT().Context())
	Expect(err).NotTo(HaveOccurred(), "starting the browser")
	DeferCleanup(func() { Expect(browser.Close()).To(Succeed(), "closing the browser") })

	folder := GinkgoT().TempDir()
	for name, page := range map[string]*render.Page{
		"diff": difference(ctx), "compare": comparison(ctx), "hostile": hostile(),
	} {
		var out strings.Builder
		Expect(page.Write(&out)).To(Succeed(), "writing the report %s", name)
		paths[name] = filepath.Join(folder, name+".html")
		Expect(os.WriteFile(paths[name], []byte(out.String()), 0o600)).To(Succeed())
	}
})

// views are how reports are looked at, with the name of the picture.
var views = map[string]chromium.View{
	"phone":        {Width: 390, Height: 844, Scale: 1, Phone: true},
	"phone-dark":   {Width: 390, Height: 844, Scale: 1, Phone: true, Dark: true},
	"desktop":      {Width: 1280, Height: 900, Scale: 1},
	"desktop-dark": {Width: 1280, Height: 900, Scale: 1, Dark: true},
	"no-script":    {Width: 390, Height: 844, Scale: 1, Phone: true, NoScript: true},
	"small":        {Width: 320, Height: 640, Scale: 1, Phone: true},
}

// open opens a report in a view.
func open(ctx SpecContext, name, view string) *chromium.Page {
	GinkgoHelper()
	page, err := browser.Open(ctx, "file://"+paths[name], views[view])
	Expect(err).NotTo(HaveOccurred(), "opening the report %s in %s", name, view)
	return page
}

// value returns the value of a JavaScript expression in the page.
func value[T any](ctx SpecContext, page *chromium.Page, expression string) T {
	GinkgoHelper()
	var value T
	Expect(page.Evaluate(ctx, expression, &value)).To(Succeed(), "evaluating %s", expression)
	return value
}

// wide lists what reaches beyond the window and does not scroll by itself.
const wide = `[...document.querySelectorAll("body *")]
	.filter((e) => !e.closest(".scroll, .skip") && e.getBoundingClientRect().right > innerWidth + 1)
	.map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 60))`

var _ = Describe("a report", func() {
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		for _, view := range slices.Sorted(maps.Keys(views)) {
			It("fits into the window, loads nothing else and logs nothing: "+name+" in "+view, func(ctx SpecContext) {
				page := open(ctx, name, view)
				widths := value[[]int](ctx, page, "[document.documentElement.scrollWidth, innerWidth]")
				if widths[0] > widths[1] {
					Fail("wider than the window: " + strings.Join(value[[]string](ctx, page, wide), "\n"))
				}
				Expect(page.Requests()).To(HaveEach(BeElementOf("file://"+paths[name], "data:,")), "what the page has loaded")
				Expect(page.Complaints()).To(BeEmpty(), "messages on the console")
				if name != "hostile" {
					picture(ctx, page, name+"-"+view)
				}
			}, SpecTimeout(limit))
		}
	}
})

// pictures are those that docs has.
var pictures = []string{
	"diff-phone", "diff-desktop", "diff-desktop-dark", "compare-desktop", "compare-phone-dark",
}

// heaviest and lightest are how many bytes a picture may have; an empty page has less.
const heaviest, lightest = 150_000, 5_000

// picture looks at the page, and with -update keeps what docs shows.
func picture(ctx SpecContext, page *chromium.Page, name string) {
	GinkgoHelper()
	shot, err := page.Picture(ctx)
	Expect(err).NotTo(HaveOccurred(), "taking the picture %s", name)
	Expect(len(shot)).To(BeNumerically(">=", lightest), "bytes of the picture %s", name)
	if !slices.Contains(pictures, name) {
		return
	}
	kept := filepath.Join("..", "..", "..", "docs", "images", "report-"+name+".png")
	if golden.Updating() {
		small, err := reduce(shot)
		Expect(errors.Join(err, os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, small, 0o644))).To(Succeed())
	}
	info, err := os.Stat(kept)
	Expect(err).NotTo(HaveOccurred(), "the picture of the docs; -update makes it")
	Expect(info.Size()).To(And(BeNumerically(">=", lightest), BeNumerically("<=", heaviest)), "bytes of %s", kept)
}
