// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// ledgerStep is a command, its standard output and standard error, and its status.
type ledgerStep struct {
	Run    string
	Rows   map[string]string `yaml:",omitempty"` // written into the folder before
	Out    string            `yaml:",omitempty"`
	Err    string            `yaml:",omitempty"`
	Status int               `yaml:",omitempty"`
}

// TestLedger runs commands one after the other: on a folder, and through a server that has it. The words are those of testdata/ledger-*.yaml.
func TestLedger(t *testing.T) {
	for _, name := range []string{"folder", "server"} {
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs("testdata/ledger-" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var steps []ledgerStep
			if err := yaml.Unmarshal(content, &steps); err != nil || len(steps) == 0 {
				t.Fatal(err)
			}
			example, err := os.ReadFile("../../../example/network/ledger.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if err := os.WriteFile("export.jsonl", example, 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "server" {
				run(t, "import export.jsonl --ledger ledger")
				serveLedger(t)
			}
			for i := range steps {
				plantRows(t, steps[i].Rows)
				got := run(t, steps[i].Run)
				got.Rows = steps[i].Rows
				if diff := cmp.Diff(steps[i], got); diff != "" && !golden.Updating() {
					t.Errorf("%s (-want +got):\n%s", got.Run, diff)
				}
				steps[i] = got
			}
			rewriteSteps(t, path, content, steps)
		})
	}
}

// TestLedgerProgress checks that long commands show their progress on a terminal, and remove it at the end.
func TestLedgerProgress(t *testing.T) {
	before := patience
	patience = 0
	t.Cleanup(func() { patience = before })
	t.Setenv("TERM", "xterm")
	example, err := filepath.Abs("../../../example/network/ledger.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		run   string
		shown []string
	}{
		{"import " + example + " --ledger ledger", []string{" checked lines", " written rows"}},
		{"verify ledger", []string{" rows"}},
		{"export ledger --output-file copy.jsonl", []string{" rows"}},
	} {
		var out, problems strings.Builder
		s := &Streams{In: strings.NewReader(""), Out: &out, Err: &problems, ErrInteractive: true}
		if status := Main("test", append([]string{"ledger"}, strings.Fields(c.run)...), s); status != 0 {
			t.Errorf("%s: status %d: %s", c.run, status, problems.String())
		}
		for _, shown := range c.shown {
			if _, rest, ok := strings.Cut(problems.String(), shown); !ok || !strings.HasPrefix(rest, emptyLine) {
				t.Errorf("%s: standard error has no %q that is erased: %q", c.run, shown, problems.String())
			}
		}
	}
}

func run(t *testing.T, command string) ledgerStep {
	t.Helper()
	var out, problems strings.Builder
	status := Main("test", append([]string{"ledger"}, strings.Fields(command)...), &Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
	return ledgerStep{Run: command, Out: out.String(), Err: problems.String(), Status: status}
}

func plantRows(t *testing.T, rows map[string]string) {
	t.Helper()
	if len(rows) == 0 {
		return
	}
	store, err := file.Open("ledger", file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range rows {
		if err := store.Commit(t.Context(), ledger.Change{Key: key, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// serveLedger is a server that has the folder.
func serveLedger(t *testing.T) {
	t.Helper()
	store, err := file.Open("ledger", file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", remote.Socket("ledger"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: remote.New(remote.Options{
		Store: store,
		Release: func(ctx context.Context, owner network.Owner) error {
			_, err := ledger.MarkReleasing(ctx, store, owner)
			return err
		},
		GC: func(ctx context.Context, dryRun bool, each func(gc.Suspect) error) error {
			return ledger.Search(ctx, store, ledger.Query{Pool: "vpc"}, func(e ledger.Entry) error {
				return each(gc.Suspect{Allocation: *e.Allocation, Reason: "the Pod is gone", Freed: !dryRun})
			})
		},
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
