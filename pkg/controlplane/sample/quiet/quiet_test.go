// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package quiet

import (
	"bytes"
	"log"
	"testing"
)

func TestFilter(t *testing.T) {
	var out bytes.Buffer
	logger := log.New(filter{&out}, "", 0)
	logger.Print("INFO: metrics: disable exposing PSI metrics because of failed init")
	logger.Print("something else")
	if got, want := out.String(), "something else\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInstalled(t *testing.T) {
	if _, ok := log.Writer().(filter); !ok {
		t.Errorf("the standard logger writes to a %T", log.Writer())
	}
}
