// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Checkout creates a repository with one commit in a folder, from the files of the repository at root: tracked files,
// and new files that are not ignored. It omits the folders of Go code: no documented command reads them, and they
// contain most files.
func Checkout(ctx context.Context, root, folder string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
		"--", ".", ":!cmd", ":!pkg", ":!test")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the files of the repository: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("copying the repository: %w", err)
		}
	}
	return git(ctx, folder, [][]string{
		{"init", "--quiet"},
		{"config", "maintenance.auto", "false"}, // otherwise gc continues in the background when the folder is removed
		{"add", "--all"},
		{"-c", "user.name=Graft", "-c", "user.email=graft@example.com", "commit", "--quiet", "--message=Begin"},
		{"update-ref", begin, "HEAD"},
	})
}

// begin is the reference of the first commit.
const begin = "refs/graft/begin"

// Reset returns a repository of Checkout to its first commit, and removes all other files and working trees. It takes a
// tenth of the time of Checkout, and calls Checkout if a test has removed the repository.
func Reset(ctx context.Context, root, folder string) error {
	err := git(ctx, folder, [][]string{
		{"reset", "--quiet", "--hard", begin}, {"clean", "--quiet", "-d", "-x", "--force", "--force"}, {"worktree", "prune"},
	})
	if err == nil {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("removing the copy of the repository: %w", err)
	}
	return Checkout(ctx, root, folder)
}

func git(ctx context.Context, folder string, commands [][]string) error {
	for _, arguments := range commands {
		step := exec.CommandContext(ctx, "git", arguments...)
		step.Dir = folder
		if output, err := step.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s in the copy of the repository: %w\n%s", arguments[0], err, output)
		}
	}
	return nil
}

// copyFile copies a file with its permissions. It ignores a tracked file that was removed.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
