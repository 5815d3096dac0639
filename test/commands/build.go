// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes bin/ current, as `make build` does, and gives its absolute path. Nothing is linked anew that is current. It reads the
// sources that the tests do not link, so that go test sees when they change and a result in its cache is of no use. While one works on
// the tests alone, GRAFT_TEST_BIN names a folder with programs that are taken as they are.
func Build(ctx context.Context, root string) (string, error) {
	if bin := os.Getenv("GRAFT_TEST_BIN"); bin != "" {
		return bin, nil
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for _, folder := range []string{"cmd", "pkg"} {
		if err := readAll(filepath.Join(root, folder)); err != nil {
			return "", fmt.Errorf("reading the sources of the programs: %w", err)
		}
	}
	command := exec.CommandContext(ctx, "make", "--no-print-directory", "build")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return filepath.Join(root, "bin"), nil
}

func readAll(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
}
