// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command graft is the command line for teams that write profiles: it displays, explains, checks and tests profiles
// with the engine of the webhook. See package app.
package main

import (
	"os"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	_ "github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/startup"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/build"
)

// The linker sets these: -X main.version=v0.1.0 -X main.commit=0123456789ab.
var version, commit string

func main() {
	os.Exit(app.Main(build.Version(version, commit), os.Args[1:], app.Terminal()))
}
