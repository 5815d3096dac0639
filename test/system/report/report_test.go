//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package report_test shows HTML reports of real changes to a real Chromium, on a phone and on a desktop, in light and
// dark: they load nothing, complain of nothing, fit into the window, and work with and without JavaScript. It needs
// chromium (hack/system/packages.txt); `make test-system` installs it. With -update it writes the pictures of
// docs/images.
package report_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/chromium"
)

// limit is how long the browser may take for a page.
const limit = 2 * time.Minute

var browser *chromium.Browser

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	browser, err = chromium.Start(context.Background())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	return m.Run(), nil
}

// views are how reports are looked at, with the name of the picture.
var views = map[string]chromium.View{
	"phone":        {Width: 390, Height: 844, Scale: 1, Phone: true},
	"phone-dark":   {Width: 390, Height: 844, Scale: 1, Phone: true, Dark: true},
	"desktop":      {Width: 1280, Height: 900, Scale: 1},
	"desktop-dark": {Width: 1280, Height: 900, Scale: 1, Dark: true},
	"no-script":    {Width: 390, Height: 844, Scale: 1, Phone: true, NoScript: true},
	"small":        {Width: 320, Height: 640, Scale: 1, Phone: true},
}

// TestReports opens every page in every view.
func TestReports(t *testing.T) {
	for name, page := range map[string]*report.Page{"diff": difference(t), "compare": comparison(t),
		"hostile": hostile()} {
		path := write(t, page)
		for view, look := range views {
			t.Run(name+"/"+view, func(t *testing.T) {
				open := open(t, path, look)
				fits(t, open)
				quiet(t, open, path)
				if name != "hostile" {
					picture(t, open, name+"-"+view)
				}
			})
		}
	}
}

// write puts a page into a file.
func write(t *testing.T, page *report.Page) string {
	t.Helper()
	var out strings.Builder
	if err := page.Write(&out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, view chromium.View) *chromium.Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	page, err := browser.Open(ctx, "file://"+path, view)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// value evaluates an expression in the page.
func value[T any](t *testing.T, page *chromium.Page, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var value T
	if err := page.Evaluate(ctx, expression, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// fits holds that nothing is wider than the window, but what scrolls by itself.
func fits(t *testing.T, page *chromium.Page) {
	t.Helper()
	widths := value[[]int](t, page, "[document.documentElement.scrollWidth, innerWidth]")
	if widths[0] > widths[1] {
		wide := value[[]string](t, page, `[...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll, .skip") &&
			e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 60))`)
		t.Errorf("the page is %d wide in a window of %d: %q", widths[0], widths[1], wide)
	}
}

// quiet holds that the page has loaded nothing but itself, and that the console is empty.
func quiet(t *testing.T, page *chromium.Page, path string) {
	t.Helper()
	for _, address := range page.Requests() {
		if address != "file://"+path && address != "data:," {
			t.Errorf("the page has loaded %s", address)
		}
	}
	for _, complaint := range page.Complaints() {
		t.Errorf("the console says %s", complaint)
	}
}

// pictures are those that docs has.
var pictures = map[string]bool{"diff-phone": true, "diff-desktop": true, "diff-desktop-dark": true, "compare-desktop": true, "compare-phone-dark": true}

// heaviest is how many bytes a picture may have.
const heaviest = 150_000

// picture looks at the page, and with -update keeps what docs shows.
func picture(t *testing.T, page *chromium.Page, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	shot, err := page.Picture(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(shot) < 5_000 {
		t.Errorf("the picture has %d bytes: is the page empty?", len(shot))
	}
	if !pictures[name] {
		return
	}
	kept := filepath.Join("..", "..", "..", "docs", "images", "report-"+name+".png")
	if golden.Updating() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, small(t, shot), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(kept)
	if err != nil {
		t.Fatalf("%v; -update makes it", err)
	}
	if info.Size() > heaviest || info.Size() < 5_000 {
		t.Errorf("%s has %d bytes, want at most %d", kept, info.Size(), heaviest)
	}
}
