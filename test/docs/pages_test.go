// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// special has the settings in testdata/pages.yaml for a page with blocks that cannot all run unchanged.
type special struct {
	// Page is the path of the page.
	Page string
	// Cluster gives the commands a KUBECONFIG of a cluster of their own.
	Cluster bool
	// Setup has the prerequisites of the page, and runs before its first block.
	Setup string
	// Teardown cleans up for other pages with the same cluster, and runs after the last block.
	Teardown string
	// Until are blocks that run until Ctrl-C, with their output when they are ready.
	Until []struct{ Block, Prints string }
	// Elsewhere are blocks that other tests run: the file By, which contains Says. Without a block it applies to the
	// whole page.
	Elsewhere []struct{ Block, By, Says string }
}

// notCommands are languages of blocks that are not typed into a terminal. A block in any other language except sh and
// console is an error.
var notCommands = []string{"", "text", "yaml", "json", "go", "promql", "lua", "vim", "toml", "diff", "lisp", "mermaid"}

// TestPages runs the commands of every page, from top to bottom, in a copy of the repository.
func TestPages(t *testing.T) {
	logf.SetLogger(logr.Discard()) // of the landscape's components
	bin, err := env.Programs(root)
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := commands.Checkout(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	pages := specials(t)
	seed := sync.OnceValues(func() (*landscape.Landscape, error) {
		return landscape.Start(context.Background(), landscape.Options{})
	})
	used := false
	for _, file := range documents(t) {
		s := pages[file]
		if s.Page != file {
			s = special{Page: file}
		}
		delete(pages, file)
		t.Run(file, func(t *testing.T) {
			run := &pageRun{special: s, bin: bin, folder: copied, text: read(t, file)}
			if s.Cluster {
				land, err := seed()
				if err != nil {
					t.Fatal(err)
				}
				used = true
				run.environment = append(run.environment, "KUBECONFIG="+land.Kubeconfig())
			}
			run.run(t)
		})
	}
	if used {
		if land, err := seed(); err == nil {
			_ = land.Stop()
		}
	}
	for file := range pages {
		t.Errorf("testdata/pages.yaml: there is no page %s", file)
	}
}

func specials(t *testing.T) map[string]special {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "pages.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	decoder.KnownFields(true)
	var list []special
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	out := map[string]special{}
	for _, s := range list {
		out[s.Page] = s
	}
	return out
}

// pageRun is a page while its blocks are run.
type pageRun struct {
	special
	bin, folder string // of the programs, and of a copy of the repository
	text        string
	environment []string

	shell *commands.Shell
	texts map[int]string // new texts of blocks by their lines
	known map[string]bool
}

func (p *pageRun) run(t *testing.T) {
	blocks, err := commands.Blocks(p.text)
	if err != nil {
		t.Fatal(err)
	}
	p.texts, p.known = map[int]string{}, map[string]bool{}
	for _, block := range blocks {
		p.block(t, block)
	}
	if p.Teardown != "" {
		p.open(t)
		p.command(t, 0, "set -e\n"+p.Teardown)
	}
	for _, until := range p.Until {
		if !p.known[until.Block] {
			t.Errorf("testdata/pages.yaml: the page has no block\n%s", until.Block)
		}
	}
	for _, elsewhere := range p.Elsewhere {
		if elsewhere.Block != "" && !p.known[elsewhere.Block] {
			t.Errorf("testdata/pages.yaml: the page has no block\n%s", elsewhere.Block)
		}
		if !strings.Contains(read(t, elsewhere.By), elsewhere.Says) {
			t.Errorf("testdata/pages.yaml: %s does not say %q", elsewhere.By, elsewhere.Says)
		}
	}
	if golden.Updating() && len(p.texts) > 0 {
		if err := os.WriteFile(filepath.Join(root, p.Page), []byte(commands.Replace(p.text, blocks, p.texts)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// block runs a block, or sees that it is no command.
func (p *pageRun) block(t *testing.T, block commands.Block) {
	t.Helper()
	p.known[block.Text] = true
	switch {
	case block.Language == "sh":
		p.script(t, block)
	case block.Language == "console":
		p.console(t, block)
	case block.File != "":
		p.open(t)
		p.command(t, block.Line, fmt.Sprintf("mkdir -p \"$(dirname '%[1]s')\" && cat >'%[1]s' <<'END OF BLOCK'\n%[2]sEND OF BLOCK", block.File, block.Text))
	case !slices.Contains(notCommands, block.Language):
		t.Errorf("%s:%d: a block is sh or console, or known not to be a command: %q is neither", p.Page, block.Line, block.Language)
	case strings.HasPrefix(block.Text, "$ ") || strings.Contains(block.Text, "\n$ "):
		t.Errorf("%s:%d: this looks like a terminal: call it console", p.Page, block.Line)
	}
}

// open gives the page its folder and its shell, when the first command comes.
func (p *pageRun) open(t *testing.T) {
	t.Helper()
	if p.shell != nil {
		return
	}
	if err := commands.Reset(t.Context(), root, p.folder); err != nil {
		t.Fatal(err)
	}
	environment := append([]string{
		"PATH=" + p.bin + ":" + filepath.Join(filepath.Dir(p.bin), ".cache", "tools", "bin") + ":" + os.Getenv("PATH"),
		"KUBECONFIG=/nonexistent", "LC_ALL=C.UTF-8", "TERM=dumb",
	}, p.environment...)
	var err error
	if p.shell, err = commands.NewShell(p.folder, t.TempDir(), environment...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.shell.Close)
	if p.Setup != "" {
		p.command(t, 0, "set -e\n"+p.Setup)
	}
}

// command runs a command that must succeed, and gives its output.
func (p *pageRun) command(t *testing.T, line int, script string) {
	t.Helper()
	output, status, err := p.shell.Run(t.Context(), script)
	if err != nil || status != 0 {
		t.Errorf("%s:%d: status %d, %v, of\n%s\n%s", p.Page, line, status, err, script, output)
	}
}

func (p *pageRun) script(t *testing.T, block commands.Block) {
	t.Helper()
	for _, elsewhere := range p.Elsewhere {
		if elsewhere.Block == block.Text || elsewhere.Block == "" {
			return
		}
	}
	p.open(t)
	for _, until := range p.Until {
		if until.Block == block.Text {
			if output, err := p.shell.RunUntil(t.Context(), block.Text, until.Prints); err != nil {
				t.Errorf("%s:%d: %v\n%s", p.Page, block.Line, err, output)
			}
			return
		}
	}
	p.command(t, block.Line, "set -e\n"+block.Text)
}

// console runs the commands of a block and compares their output.
func (p *pageRun) console(t *testing.T, block commands.Block) {
	t.Helper()
	steps, err := commands.Steps(block.Text)
	if err != nil {
		t.Errorf("%s:%d: %v", p.Page, block.Line, err)
		return
	}
	p.open(t)
	updated := ""
	for _, step := range steps {
		output, status, err := p.shell.Run(t.Context(), step.Command)
		switch {
		case err != nil:
			t.Errorf("%s:%d: %s%v\n%s", p.Page, block.Line, step.Shown, err, output)
		case status != 0 && !step.Status:
			t.Errorf("%s:%d: %sstatus %d; show it with `$ echo $?` where it is meant\n%s", p.Page, block.Line, step.Shown, status, output)
		case !golden.Updating() && !commands.Matches(step.Want, output):
			t.Errorf("%s:%d: %s; -update writes it (-page +output):\n%s", p.Page, block.Line, step.Shown,
				cmp.Diff(strings.Split(step.Want, "\n"), strings.Split(output, "\n")))
		}
		updated += step.Shown + commands.Update(step.Want, output)
	}
	if updated != block.Text {
		p.texts[block.Line] = updated
	}
}
