// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
)

// writeCommandLine writes the page of graft's commands.
func writeCommandLine(out *bytes.Buffer) error {
	_, err := out.Write(manual.Markdown(app.NewCommand("", &app.Streams{})))
	return err
}
