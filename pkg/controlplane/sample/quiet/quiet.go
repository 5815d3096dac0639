// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package quiet keeps one line off the standard error of programs that link Gardener's component code: a metrics
// library below it reports at its own initialization, through the standard logger, that a machine has no pressure
// statistics. It must import nothing but small standard packages, because it only works when it is initialized before
// that library. A blank import is enough.
package quiet

import (
	"bytes"
	"io"
	"log"
	"os"
)

// unwanted is the constant part of the line, without the reason.
var unwanted = []byte("metrics: disable exposing PSI metrics")

// Only a package variable is initialized early enough: the line is written before any main function.
var _ = install()

func install() bool {
	log.SetOutput(filter{os.Stderr})
	return true
}

// filter drops the unwanted line and passes everything else on.
type filter struct{ to io.Writer }

// Write implements io.Writer.
func (f filter) Write(line []byte) (int, error) {
	if bytes.Contains(line, unwanted) {
		return len(line), nil
	}
	return f.to.Write(line)
}
