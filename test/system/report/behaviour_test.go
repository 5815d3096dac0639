//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/chromium"
)

var _ = Describe("the filter of a report", Ordered, func() {
	const shown = `[...document.querySelectorAll("section.object")].filter((o) => o.checkVisibility())
		.map((o) => o.querySelector("h2").textContent)`
	var page *chromium.Page

	BeforeAll(func(ctx SpecContext) { page = open(ctx, "diff", "desktop") })

	DescribeTable("shows the objects", func(ctx SpecContext, action string, want ...string) {
		value[any](ctx, page, action)
		Expect(value[[]string](ctx, page, shown)).To(HaveExactElements(want), "objects that are shown")
		Expect(value[bool](ctx, page, `document.getElementById("none").checkVisibility()`)).To(Equal(len(want) == 0),
			"whether the page says that nothing matches")
	},
		Entry("with a name", `text.value = "ETCD main"; text.dispatchEvent(new Event("input"))`, "Etcd etcd-main"),
		Entry("without a match", `text.value = "nothing of the kind"; text.dispatchEvent(new Event("input"))`),
		Entry("of a rule", `text.value = ""; rule.value = [...rule.options].find((o) => o.text.startsWith("sidecar (")).value;
			rule.dispatchEvent(new Event("change"))`, "Deployment machine-controller-manager"),
	)

	It("shortens the contents and dims lines of other rules", func(ctx SpecContext) {
		Expect(value[int](ctx, page, `document.querySelectorAll(".contents li:not([hidden])").length`)).To(Equal(1),
			"objects in the contents")
		Expect(value[int](ctx, page, `document.querySelectorAll(".run.other").length`)).NotTo(BeZero(), "dimmed lines")
	})
})

var _ = Describe("a report of changes", func() {
	It("closes and opens all objects, and opens the one that a link leads to", func(ctx SpecContext) {
		const closed = `document.querySelectorAll("section.object > details:not([open])").length`
		page := open(ctx, "diff", "phone")
		all := value[int](ctx, page, `document.querySelectorAll("section.object").length`)
		value[any](ctx, page, `document.getElementById("close").click()`)
		Expect(value[int](ctx, page, closed)).To(Equal(all), "closed objects after a click on close")
		value[any](ctx, page, `new Promise((then) => {
			addEventListener("hashchange", () => setTimeout(then)); location.hash = "#s3" })`)
		Expect(value[bool](ctx, page, `document.querySelector("#s3 > details").open`)).To(BeTrue(),
			"the object that the link leads to is open")
		value[any](ctx, page, `document.getElementById("open").click()`)
		Expect(value[int](ctx, page, closed)).To(BeZero(), "closed objects after a click on open")
	}, SpecTimeout(limit))

	It("shows every change without JavaScript, and no filter", func(ctx SpecContext) {
		page := open(ctx, "diff", "no-script")
		Expect(value[bool](ctx, page, `document.querySelector(".filter").checkVisibility()`)).To(BeFalse(),
			"visibility of the filter")
		Expect(value[[]string](ctx, page, `[...document.querySelectorAll(".denied, .changed")]
			.filter((o) => o.matches("section") && !o.querySelector("details").open).map((o) => o.id)`)).To(BeEmpty(),
			"changed objects that are closed")
	}, SpecTimeout(limit))

	It("is printed on three pages or more", func(ctx SpecContext) {
		pdf, err := open(ctx, "diff", "desktop-dark").Print(ctx)
		Expect(err).NotTo(HaveOccurred(), "printing")
		pages := bytes.Count(pdf, []byte("/Type /Page\n")) + bytes.Count(pdf, []byte("/Type /Page "))
		Expect(pages).To(BeNumerically(">=", 3), "pages on paper")
	}, SpecTimeout(limit))
})

// contrasts lists texts with less contrast to their background than WCAG 2.1 requires (1.4.3, level AA).
const contrasts = `(() => {
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => c.map(linear).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
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
    const both = [light(colour(getComputedStyle(e).color).slice(0, 3)), light(behind(e))];
    const [a, b] = both.sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.add(e.tagName + "." + e.className + " " + e.textContent.slice(0, 30));
  }
  return [...found];
})()`

var _ = Describe("a report for people who see little", func() {
	DescribeTable("has landmarks, headings without gaps and names of controls, and the first key leads to the changes",
		func(
			ctx SpecContext, view string,
		) {
			page := open(ctx, "compare", view)
			Expect(value[map[string]int](ctx, page, `Object.fromEntries(["header", "nav", "main", "footer", "h1"]
			.map((n) => [n, document.querySelectorAll(n).length]))`)).To(
				Equal(map[string]int{"header": 1, "nav": 1, "main": 1, "footer": 1, "h1": 1}), "landmarks")
			Expect(value[[]string](ctx, page, `[...document.querySelectorAll("h1, h2, h3, h4")]
			.filter((h, i, all) => i > 0 && +h.tagName[1] > +all[i - 1].tagName[1] + 1)
			.map((h) => h.textContent)`)).To(BeEmpty(), "headings that skip a level")
			Expect(value[int](ctx, page, `[...document.querySelectorAll("input, select")]
			.filter((e) => e.labels.length !== 1).length +
			[...document.querySelectorAll("a, button, summary")].filter((e) => !e.textContent.trim()).length`)).To(BeZero(),
				"controls without a name")
			Expect(page.Key(ctx, "Tab")).To(Succeed(), "pressing the tabulator")
			Expect(value[string](ctx, page, `document.activeElement.getAttribute("href")`)).To(Equal("#content"),
				"the first stop of the keyboard")
		},
		Entry("on a desktop", "desktop", SpecTimeout(limit)),
		Entry("on a phone", "phone", SpecTimeout(limit)),
	)

	DescribeTable("has enough contrast", func(ctx SpecContext, view string) {
		for _, name := range []string{"compare", "diff"} {
			page := open(ctx, name, view)
			Expect(value[[]string](ctx, page, contrasts)).To(BeEmpty(), "texts of %s with little contrast", name)
			value[any](ctx, page, `document.querySelector("h1").style.color = "#777"`)
			Expect(value[[]string](ctx, page, contrasts)).NotTo(BeEmpty(), "texts with little contrast, one of which is new")
		}
	},
		Entry("on a desktop", "desktop", SpecTimeout(limit)),
		Entry("on a dark desktop", "desktop-dark", SpecTimeout(limit)),
		Entry("on a phone", "phone", SpecTimeout(limit)),
		Entry("on a dark phone", "phone-dark", SpecTimeout(limit)),
	)
})
