// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

var (
	// root is the folder of the repository, bin that of its programs, and copied that of a copy of the repository.
	root        = filepath.Join("..", "..")
	bin, copied string
)

func TestMain(m *testing.M) {
	var err error
	if bin, err = env.Programs(root); err == nil {
		copied, err = os.MkdirTemp("", "graft-copy-")
	}
	if err == nil {
		err = Checkout(context.Background(), root, copied)
	}
	status := 1
	if err == nil {
		status = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(copied)
	os.Exit(status)
}

// checkout returns the folder of the copy of the repository, without changes of earlier tests.
func checkout(t *testing.T) string {
	t.Helper()
	if err := Reset(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	return copied
}
