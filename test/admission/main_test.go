// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package admission_test proves the control-plane webhooks end to end: a real kube-apiserver calls the real program, which
// runs as a process of its own with exactly the permissions that its chart grants, and the tests look at what was stored,
// what the client was told, what was counted and what was logged.
//
// All tests share one kube-apiserver, and one after the other runs a program of its own, as there is one registration in a
// cluster. Each test makes the namespaces it needs. Everything listens on the loopback interface only.
//
// Enter at TestMain, then at program (a running Graft) and seed (the cluster around it).
package admission_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// What the tests share; TestMain sets it.
var (
	// root is the folder of the repository.
	root = filepath.Join("..", "..")
	// binary is the program, built for this run.
	binary string
	// land is the cluster, and auditLog the file of its audit events.
	land     *landscape.Landscape
	auditLog string
)

const (
	programName = "gardener-extension-provider-graft"
	// builtVersion is linked into the binary, to see that --version shows it.
	builtVersion = "v0.0.0-admission"
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is TestMain with defer.
func run(m *testing.M) int {
	logf.SetLogger(logr.Discard()) // of Gardener's components, which the tests link
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "graft-admission-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if binary, err = build(ctx, folder); err != nil {
		return failed(err)
	}
	auditLog = filepath.Join(folder, "audit.log")
	// Error messages of a missing etcd or kube-apiserver say which make target builds them.
	if land, err = landscape.Start(ctx, landscape.Options{AuditLog: auditLog}); err != nil {
		return failed(err)
	}
	defer func() { _ = land.Stop() }()
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// build links the program. Without other flags than those of make, so that its packages come from the build cache. It reads the
// sources that the tests do not link, so that go test sees when they change and a result in its cache is of no use.
func build(ctx context.Context, folder string) (string, error) {
	if err := fs.WalkDir(os.DirFS(root), "cmd", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(filepath.Join(root, path))
		return err
	}); err != nil {
		return "", fmt.Errorf("reading the sources of the program: %w", err)
	}
	path := filepath.Join(folder, programName)
	command := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.version="+builtVersion, "-o", path, "./cmd/"+programName)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return path, nil
}
