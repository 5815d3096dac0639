// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"os"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// TestMain runs the suite in its own network, mount and process namespaces, so that all started processes end with it.
func TestMain(m *testing.M) {
	os.Exit(namespace.Main(m, namespace.Options{Processes: true}))
}

func TestGardener(t *testing.T) { suite.Run(t, "gardener", "admission") }
