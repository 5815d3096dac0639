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
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
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
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) (err error) {
		if binary, err = env.Build(ctx, root, programName, s.Folder, "-ldflags", "-X main.version="+builtVersion); err != nil {
			return err
		}
		auditLog = filepath.Join(s.Folder, "audit.log")
		// Error messages of a missing etcd or kube-apiserver say which make target builds them.
		land, err = s.Start(ctx, landscape.Options{AuditLog: auditLog})
		return err
	}))
}
