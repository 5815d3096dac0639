//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package site_test opens the documentation that `make docs` builds in a real Chromium. It needs mkdocs and chromium
// (hack/system/packages.txt); `make test-system` installs them.
package site_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/chromium"
)

// timeout limits the time for one page.
const timeout = 2 * time.Minute

var (
	browser *chromium.Browser
	server  *httptest.Server
)

func TestSite(t *testing.T) { suite.Run(t, "site") }

var _ = BeforeSuite(func(ctx SpecContext) {
	docs := exec.CommandContext(ctx, "make", "--no-print-directory", "docs")
	docs.Dir = "../../.."
	output, err := docs.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "make docs printed:\n%s", output)

	server = httptest.NewServer(http.FileServer(http.Dir("../../../bin/docs")))
	DeferCleanup(server.Close)
	// The browser outlives the context of this node.
	browser, err = chromium.Start(GinkgoT().Context())
	Expect(err).NotTo(HaveOccurred(), "starting the browser")
	DeferCleanup(func() { Expect(browser.Close()).To(Succeed(), "closing the browser") })
})

// open opens a path of the site in a desktop window.
func open(ctx SpecContext, path string) *chromium.Page {
	GinkgoHelper()
	page, err := browser.Open(ctx, server.URL+path, chromium.View{Width: 1280, Height: 900, Scale: 1})
	Expect(err).NotTo(HaveOccurred(), "opening %s", path)
	return page
}

// evaluate returns the value of a JavaScript expression in the page.
func evaluate[T any](ctx SpecContext, page *chromium.Page, expression string) T {
	GinkgoHelper()
	var value T
	Expect(page.Evaluate(ctx, expression, &value)).To(Succeed(), "evaluating %s", expression)
	return value
}

var _ = Describe("The documentation site", Label("docs"), func() {
	It("lists the tasks on its first page", func(ctx SpecContext) {
		page := open(ctx, "/index.html")
		Expect(evaluate[string](ctx, page, "document.querySelector('h1').textContent")).To(ContainSubstring("Documentation"))
		links := evaluate[[]string](ctx, page,
			"[...document.querySelectorAll('[role=main] li a')].map((a) => a.getAttribute('href'))")
		Expect(links).To(ContainElement("usage/tutorial.html"), "the first page links the tutorial")
	}, SpecTimeout(timeout))

	It("loads nothing from other servers and logs no error", func(ctx SpecContext) {
		page := open(ctx, "/usage/installation.html")
		for _, request := range page.Requests() {
			Expect(request).To(Or(HavePrefix(server.URL), HavePrefix("data:")), "a request to another server")
		}
		Expect(page.Complaints()).To(BeEmpty(), "messages on the console")
	}, SpecTimeout(timeout))

	It("leads from each link of a page to a page that exists", func(ctx SpecContext) {
		for _, path := range []string{"/index.html", "/operations/troubleshoot.html", "/usage/lint.html"} {
			links := evaluate[[]string](ctx, open(ctx, path), "[...document.querySelectorAll('a')].map((a) => a.href)")
			for _, link := range links {
				if !strings.HasPrefix(link, server.URL) {
					continue
				}
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, http.NoBody)
				Expect(err).NotTo(HaveOccurred(), "the link %s of %s", link, path)
				response, err := http.DefaultClient.Do(request)
				Expect(err).NotTo(HaveOccurred(), "following %s of %s", link, path)
				Expect(response.Body.Close()).To(Succeed())
				Expect(response.StatusCode).To(Equal(http.StatusOK), "status of %s, linked from %s", link, path)
			}
		}
	}, SpecTimeout(timeout))

	DescribeTable("finds a page by the words of an operator", func(ctx SpecContext, words, want string) {
		page := open(ctx, "/index.html?q="+words)
		results := func() []string {
			return evaluate[[]string](ctx, page,
				"[...document.querySelectorAll('#mkdocs-search-results article a')].map((a) => new URL(a.href).pathname)")
		}
		Eventually(results).WithContext(ctx).WithTimeout(timeout/2).Should(ContainElement(HavePrefix(want)),
			"results for %q", words)
	},
		Entry("rollback", "rollback", "/operations/upgrade.html", SpecTimeout(timeout)),
		Entry("restart", "restart", "/operations/", SpecTimeout(timeout)),
		Entry("certificate", "certificate", "/operations/", SpecTimeout(timeout)),
		Entry("uninstall", "uninstall", "/operations/", SpecTimeout(timeout)),
	)
})
