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
)

var (
	// root is the folder of the repository, bin that of its programs.
	root = filepath.Join("..", "..")
	bin  string
)

func TestMain(m *testing.M) {
	var err error
	if bin, err = Build(context.Background(), root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// checkout is a copy of the repository for a test.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := Checkout(t.Context(), root, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}
