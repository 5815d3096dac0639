// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package admission_test tests the control-plane webhooks end to end: a real kube-apiserver calls the real program,
// which runs as a process with exactly the permissions of its chart. The specs look at the stored objects, the answers
// for the client, the metrics and the log.
//
// All specs share one kube-apiserver. Each of them, or each Ordered container, runs its own program, as there is one
// registration in a cluster, and creates the namespaces that it needs. All servers listen on the loopback interface.
//
// Start reading at program (a running Graft), and at newShoot and deployment (the cluster around it).
package admission_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// What all specs share; BeforeSuite sets it.
var (
	// root is the folder of the repository.
	root = filepath.Join("..", "..")
	// binary is the path of the program.
	binary string
	// land is the cluster, and auditLog the file of its audit events.
	land     *landscape.Landscape
	auditLog string
)

const programName = "gardener-extension-provider-graft"

func TestAdmission(t *testing.T) { suite.Run(t, "admission", "admission", "slow") }

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	folder := GinkgoT().TempDir()
	var err error
	binary, err = env.Program(root, programName)
	Expect(err).NotTo(HaveOccurred())
	auditLog = filepath.Join(folder, "audit.log")
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{AuditLog: auditLog})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
})
