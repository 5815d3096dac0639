// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/test/commands"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// special has the settings in testdata/pages.yaml for a page with blocks that cannot all run unchanged.
type special struct {
	// Page is the path of the page.
	Page string
	// Cluster sets KUBECONFIG to a separate cluster for the commands.
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

func TestPages(t *testing.T) { suite.Run(t, "docs", "slow") }

// The commands of every page run from top to bottom, in a copy of the repository.
var _ = Describe("the commands of the page", Ordered, ContinueOnFailure, func() {
	var bin, copied string
	seed := sync.OnceValues(func() (*landscape.Landscape, error) {
		return landscape.Start(context.Background(), landscape.Options{})
	})
	used := false
	BeforeAll(func(ctx SpecContext) {
		var err error
		bin, err = env.Programs(root)
		Expect(err).NotTo(HaveOccurred())
		copied = GinkgoT().TempDir()
		Expect(commands.Checkout(ctx, root, copied)).To(Succeed())
	})
	AfterAll(func() {
		if !used {
			return
		}
		if land, err := seed(); err == nil {
			_ = land.Stop()
		}
	})

	files, err := walk(".", ".md")
	pages, settings := specials()
	It("exists", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(settings).NotTo(HaveOccurred(), "reading testdata/pages.yaml")
		Expect(files).To(ContainElements(slices.Collect(maps.Keys(pages))), "testdata/pages.yaml names only pages that exist")
	})
	for _, file := range files {
		s := pages[file]
		s.Page = file
		It(file, func(ctx SpecContext) {
			run := &pageRun{special: s, bin: bin, folder: copied, text: read(GinkgoTB(), file)}
			if s.Cluster {
				land, err := seed()
				Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
				used = true
				run.environment = append(run.environment, "KUBECONFIG="+land.Kubeconfig())
			}
			run.run(ctx)
		})
	}
})

// specials returns the settings in testdata/pages.yaml by page.
func specials() (map[string]special, error) {
	content, err := os.ReadFile(filepath.Join("testdata", "pages.yaml"))
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var list []special
	if err := decoder.Decode(&list); err != nil {
		return nil, err
	}
	out := map[string]special{}
	for _, s := range list {
		out[s.Page] = s
	}
	return out, nil
}

// pageRun is a page while its blocks are run.
type pageRun struct {
	special
	bin, folder string // of the programs, and of a copy of the repository
	text        string
	environment []string

	shell    *commands.Shell
	texts    map[int]string // new texts of blocks by their lines
	known    map[string]bool
	problems []string
}

// errorf adds a problem. A page reports all its problems at its end.
func (p *pageRun) errorf(format string, values ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, values...))
}

func (p *pageRun) run(ctx SpecContext) {
	blocks, err := commands.Blocks(p.text)
	Expect(err).NotTo(HaveOccurred())
	p.texts, p.known = map[int]string{}, map[string]bool{}
	for _, block := range blocks {
		p.block(ctx, block)
	}
	if p.Teardown != "" {
		p.open(ctx)
		p.command(ctx, 0, "set -e\n"+p.Teardown)
	}
	for _, until := range p.Until {
		if !p.known[until.Block] {
			p.errorf("testdata/pages.yaml: the page has no block\n%s", until.Block)
		}
	}
	for _, elsewhere := range p.Elsewhere {
		if elsewhere.Block != "" && !p.known[elsewhere.Block] {
			p.errorf("testdata/pages.yaml: the page has no block\n%s", elsewhere.Block)
		}
		if !strings.Contains(read(GinkgoTB(), elsewhere.By), elsewhere.Says) {
			p.errorf("testdata/pages.yaml: %s does not say %q", elsewhere.By, elsewhere.Says)
		}
	}
	Expect(strings.Join(p.problems, "\n")).To(BeEmpty(), "problems of the page")
	if golden.Updating() && len(p.texts) > 0 {
		Expect(os.WriteFile(filepath.Join(root, p.Page), []byte(commands.Replace(p.text, blocks, p.texts)),
			0o644)).To(Succeed())
	}
}

// block runs a block, or sees that it is no command.
func (p *pageRun) block(ctx SpecContext, block commands.Block) {
	p.known[block.Text] = true
	switch {
	case block.Language == "sh":
		p.script(ctx, block)
	case block.Language == "console":
		p.console(ctx, block)
	case block.File != "":
		p.open(ctx)
		p.command(ctx, block.Line,
			fmt.Sprintf("mkdir -p \"$(dirname '%[1]s')\" && cat >'%[1]s' <<'END OF BLOCK'\n%[2]sEND OF BLOCK", block.File,
				block.Text))
	case !slices.Contains(notCommands, block.Language):
		p.errorf("%s:%d: a block is sh or console, or known not to be a command: %q is neither", p.Page, block.Line,
			block.Language)
	case strings.HasPrefix(block.Text, "$ ") || strings.Contains(block.Text, "\n$ "):
		p.errorf("%s:%d: this looks like a terminal: call it console", p.Page, block.Line)
	}
}

// open creates the folder and the shell of the page at the first command.
func (p *pageRun) open(ctx SpecContext) {
	if p.shell != nil {
		return
	}
	Expect(commands.Reset(ctx, root, p.folder)).To(Succeed())
	environment := append([]string{
		"PATH=" + p.bin + ":" + filepath.Join(filepath.Dir(p.bin), ".cache", "tools", "bin") + ":" + os.Getenv("PATH"),
		"KUBECONFIG=/nonexistent", "LC_ALL=C.UTF-8", "TERM=dumb",
	}, p.environment...)
	var err error
	p.shell, err = commands.NewShell(p.folder, GinkgoT().TempDir(), environment...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.shell.Close)
	if p.Setup != "" {
		p.command(ctx, 0, "set -e\n"+p.Setup)
	}
}

// command runs a command that must succeed, and returns its output.
func (p *pageRun) command(ctx SpecContext, line int, script string) {
	output, status, err := p.shell.Run(ctx, script)
	if err != nil || status != 0 {
		p.errorf("%s:%d: status %d, %v, of\n%s\n%s", p.Page, line, status, err, script, output)
	}
}

func (p *pageRun) script(ctx SpecContext, block commands.Block) {
	for _, elsewhere := range p.Elsewhere {
		if elsewhere.Block == block.Text || elsewhere.Block == "" {
			return
		}
	}
	p.open(ctx)
	for _, until := range p.Until {
		if until.Block == block.Text {
			if output, err := p.shell.RunUntil(ctx, block.Text, until.Prints); err != nil {
				p.errorf("%s:%d: %v\n%s", p.Page, block.Line, err, output)
			}
			return
		}
	}
	p.command(ctx, block.Line, "set -e\n"+block.Text)
}

// console runs the commands of a block and compares their output.
func (p *pageRun) console(ctx SpecContext, block commands.Block) {
	steps, err := commands.Steps(block.Text)
	if err != nil {
		p.errorf("%s:%d: %v", p.Page, block.Line, err)
		return
	}
	p.open(ctx)
	updated := ""
	for _, step := range steps {
		output, status, err := p.shell.Run(ctx, step.Command)
		switch {
		case err != nil:
			p.errorf("%s:%d: %s%v\n%s", p.Page, block.Line, step.Shown, err, output)
		case status != 0 && !step.Status:
			p.errorf("%s:%d: %sstatus %d; show it with `$ echo $?` where it is meant\n%s", p.Page, block.Line, step.Shown,
				status, output)
		case !golden.Updating() && !commands.Matches(step.Want, output):
			p.errorf("%s:%d: %s; -update writes it (-page +output):\n%s", p.Page, block.Line, step.Shown,
				cmp.Diff(strings.Split(step.Want, "\n"), strings.Split(output, "\n")))
		}
		updated += step.Shown + commands.Update(step.Want, output)
	}
	if updated != block.Text {
		p.texts[block.Line] = updated
	}
}
