// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command rules writes docs/lint: a page for each rule of graft lint, and their list. `make generate` runs it
// from the root of the module. The pages come from pkg/workbench/lint/rules and the output of lint for their
// examples. Start reading at write.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/lint"
)

const (
	folder = "docs/lint"
	note   = "<!-- Generated: hack/rules -->\n"
)

func main() {
	log.SetFlags(0)
	if err := write(); err != nil {
		log.Fatalf("rules: %s", err)
	}
}

func write() error {
	pages, err := lint.Pages()
	if err != nil {
		return err
	}
	index, err := lint.Index()
	if err != nil {
		return err
	}
	// Remove the pages of removed rules.
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, page := range pages {
		if err := os.WriteFile(filepath.Join(folder, string(page.Rule)+".md"), []byte(note+page.Markdown()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "README.md"), []byte(note+index), 0o644)
}
