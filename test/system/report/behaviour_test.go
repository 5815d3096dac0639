//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilter checks that objects can be selected by name and by rule, and that lines of other rules are dimmed.
func TestFilter(t *testing.T) {
	page := open(t, write(t, difference(t)), views["desktop"])
	const shown = `[...document.querySelectorAll("section.object")].filter((o) => o.checkVisibility()).map((o) => o.querySelector("h2").textContent)`
	for _, c := range []struct {
		name, act string
		want      []string
	}{
		{"by name", `text.value = "ETCD main"; text.dispatchEvent(new Event("input"))`, []string{"Etcd etcd-main"}},
		{"by no name", `text.value = "nothing of the kind"; text.dispatchEvent(new Event("input"))`, []string{}},
		{"by rule", `text.value = ""; rule.value = [...rule.options].find((o) => o.text.startsWith("sidecar (")).value; rule.dispatchEvent(new Event("change"))`,
			[]string{"Deployment machine-controller-manager"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			value[any](t, page, c.act)
			if diff := cmp.Diff(c.want, value[[]string](t, page, shown)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if none := value[bool](t, page, `document.getElementById("none").checkVisibility()`); none != (len(c.want) == 0) {
				t.Errorf("it is said that there is nothing: %v", none)
			}
		})
	}
	if left := value[int](t, page, `document.querySelectorAll(".contents li:not([hidden])").length`); left != 1 {
		t.Errorf("the contents list %d objects", left)
	}
	if faded := value[int](t, page, `document.querySelectorAll(".run.other").length`); faded == 0 {
		t.Error("no line of another rule has stepped back")
	}
}

// TestFolds checks that links open their targets, and that everything can be closed and opened.
func TestFolds(t *testing.T) {
	page := open(t, write(t, difference(t)), views["phone"])
	const closed = `document.querySelectorAll("section.object > details:not([open])").length`
	all := value[int](t, page, `document.querySelectorAll("section.object").length`)
	value[any](t, page, `document.getElementById("close").click()`)
	if got := value[int](t, page, closed); got != all {
		t.Errorf("%d of %d objects are closed", got, all)
	}
	value[any](t, page, `new Promise((then) => { addEventListener("hashchange", () => setTimeout(then)); location.hash = "#s3" })`)
	if !value[bool](t, page, `document.querySelector("#s3 > details").open`) {
		t.Error("the object that a link leads to is closed")
	}
	value[any](t, page, `document.getElementById("open").click()`)
	if got := value[int](t, page, closed); got != 0 {
		t.Errorf("%d objects are closed", got)
	}
}

// TestWithoutScript checks that everything is visible without JavaScript, except for the filter, which would have no
// effect.
func TestWithoutScript(t *testing.T) {
	page := open(t, write(t, difference(t)), views["no-script"])
	if value[bool](t, page, `document.querySelector(".filter").checkVisibility()`) {
		t.Error("the filter is shown")
	}
	hidden := value[[]string](t, page,
		`[...document.querySelectorAll(".denied, .changed")].filter((o) => o.matches("section") && !o.querySelector("details").open).map((o) => o.id)`)
	if len(hidden) > 0 {
		t.Errorf("what changed is folded: %q", hidden)
	}
}

// TestLandmarks checks the page for screen readers: one of each landmark, headings without gaps, names of controls, and
// a first keyboard stop that leads to the changes.
func TestLandmarks(t *testing.T) {
	for name, view := range map[string]string{"desktop": "desktop", "phone": "phone"} {
		t.Run(name, func(t *testing.T) {
			page := open(t, write(t, comparison(t)), views[view])
			landmarks := value[map[string]int](t, page,
				`Object.fromEntries(["header", "nav", "main", "footer", "h1"].map((n) => [n, document.querySelectorAll(n).length]))`)
			if diff := cmp.Diff(map[string]int{"header": 1, "nav": 1, "main": 1, "footer": 1, "h1": 1}, landmarks); diff != "" {
				t.Errorf("landmarks (-want +got):\n%s", diff)
			}
			gaps := value[[]string](t, page, `[...document.querySelectorAll("h1, h2, h3, h4")].filter((h, i, all) => i > 0 && +h.tagName[1] > +all[i - 1].tagName[1] + 1).map((h) => h.textContent)`)
			if len(gaps) > 0 {
				t.Errorf("headings that skip a level: %q", gaps)
			}
			nameless := value[int](t, page, `[...document.querySelectorAll("input, select")].filter((e) => e.labels.length !== 1).length +
				[...document.querySelectorAll("a, button, summary")].filter((e) => !e.textContent.trim()).length`)
			if nameless > 0 {
				t.Errorf("%d things that can be used have no name", nameless)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if err := page.Key(ctx, "Tab"); err != nil {
				t.Fatal(err)
			}
			if first := value[string](t, page, `document.activeElement.getAttribute("href")`); first != "#content" {
				t.Errorf("the keyboard first stops at %q", first)
			}
		})
	}
}

// contrasts lists all texts with less contrast to what is behind them than WCAG 2.1 asks for (1.4.3, level AA).
const contrasts = `(() => {
  const light = (c) => c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e.checkVisibility() || e.closest("script")) continue;
    const [a, b] = [light(colour(getComputedStyle(e).color).slice(0, 3)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.add(e.tagName + "." + e.className + " " + e.textContent.slice(0, 30));
  }
  return [...found];
})()`

func TestContrast(t *testing.T) {
	for _, view := range []string{"desktop", "desktop-dark", "phone", "phone-dark"} {
		t.Run(view, func(t *testing.T) {
			for _, path := range []string{write(t, comparison(t)), write(t, difference(t))} {
				page := open(t, path, views[view])
				for _, text := range value[[]string](t, page, contrasts) {
					t.Errorf("little contrast: %s", text)
				}
				value[any](t, page, `document.querySelector("h1").style.color = "#777"`)
				if len(value[[]string](t, page, contrasts)) == 0 {
					t.Error("little contrast is not found")
				}
			}
		})
	}
}

// TestPrint checks that everything can be printed.
func TestPrint(t *testing.T) {
	page := open(t, write(t, difference(t)), views["desktop-dark"])
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	pdf, err := page.Print(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")) + bytes.Count(pdf, []byte("/Type /Page ")); pages < 3 {
		t.Errorf("the report has %d pages on paper", pages)
	}
}
