// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command graft-resource-interpreter is a webhook that answers Karmada from InterpreterProfiles. It only wires
// packages; see package app.
package main

import (
	"os"

	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft-resource-interpreter/app"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/build"
)

// The linker sets these: -X main.version=v0.1.0 -X main.commit=0123456789ab.
var version, commit string

func main() {
	// A second signal ends the program at once.
	os.Exit(app.Main(signals.SetupSignalHandler(), build.Version(version, commit), os.Args[1:], os.Stdout, os.Stderr))
}
