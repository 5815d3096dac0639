// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
)

// TestMain runs the suite in its own network, mount and process namespaces, so that all started processes end with it.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(namespace.Main(m, namespace.Options{Processes: true}))
}

func TestGardener(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "A real Gardener")
}
