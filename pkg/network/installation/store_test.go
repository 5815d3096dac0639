// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
)

// TestFatalErrors checks the log message before the program ends. test/network fills a disk.
func TestFatalErrors(t *testing.T) {
	for _, test := range []struct {
		name       string
		err        error
		want, lack string
	}{
		{"a damaged file", fmt.Errorf("reading: %w: checksum", file.ErrDamaged), "it does not contain later writes", "the ledger contains all acknowledged writes"},
		{"a full disk", errors.New("no space left on device"), "the ledger contains all acknowledged writes", "does not contain later writes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, status := "", 0
			sink := funcr.New(func(_, line string) { log += line }, funcr.Options{})
			folderOptions("ledger", sink, func(code int) { status = code }).Fatal(test.err)
			if status != 1 || !strings.Contains(log, test.want) || !strings.Contains(log, test.err.Error()) || strings.Contains(log, test.lack) {
				t.Errorf("got status %d and the log %s", status, log)
			}
		})
	}
}
