// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command gardener-extension-provider-graft runs in a seed and serves the control-plane webhooks for all clouds
// that have profiles. It only wires packages; see package app.
package main

import (
	"os"

	// This import precedes Gardener's packages, one of which prints a line at program start.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/gardener-extension-provider-graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/build"
)

// The linker sets these: -X main.version=v0.1.0 -X main.commit=0123456789ab.
var version, commit string

func main() {
	os.Exit(app.Main(signals.SetupSignalHandler(), build.Version(version, commit), os.Args[1:], os.Stdout, os.Stderr))
}
