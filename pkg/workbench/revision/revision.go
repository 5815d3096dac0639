// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package revision reads profiles from where they are named: a file, a folder, or either of them in a revision of git, as in
// HEAD~1:profile.yaml. It asks the git program, and writes nothing. Enter at Read.
package revision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrGit is wrapped by errors of git and by those about missing revisions and files.
var ErrGit = errors.New("reading from git")

// Read reads profiles: those of a file or a folder, as folder.Read does, or those of <revision>:<path>. An existing
// path has precedence over a revision. As in git, a path in a revision is relative to the root of the repository, and
// one that begins with ./ or ../ to the working directory. Positions name files of revisions as <revision>:<path>.
func Read(ctx context.Context, name string) ([]source.File, error) {
	revision, file, isRevision := strings.Cut(name, ":")
	if _, err := os.Stat(name); err == nil || !isRevision || revision == "" {
		return folder.ReadNamed(name)
	}
	repository := repository{revision: revision}
	if err := repository.open(ctx); err != nil {
		return nil, err
	}
	return repository.read(ctx, file)
}

// repository is one revision of the repository of the working directory.
type repository struct {
	// revision is the given revision, and commit the commit to which git resolves it.
	revision, commit string
	// prefix is the working directory below the root, with a slash at the end; empty at the root.
	prefix string
}

func (r *repository) open(ctx context.Context) error {
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return fmt.Errorf("%w: %s:… is neither a path that exists nor, outside of a git work tree, a revision: %w", ErrGit, r.revision, err)
	}
	r.prefix = strings.TrimSpace(string(prefix))
	commit, err := git(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", r.revision+"^{commit}")
	if err != nil {
		return fmt.Errorf("%w: there is no revision %s (a shallow clone may lack it: git fetch --unshallow)", ErrGit, r.revision)
	}
	r.commit = strings.TrimSpace(string(commit))
	return nil
}

// read reads a file, or the profiles of a folder.
func (r *repository) read(ctx context.Context, name string) ([]source.File, error) {
	inside, err := r.inside(name)
	if err != nil {
		return nil, err
	}
	object := r.commit + ":" + inside
	kind, err := git(ctx, "cat-file", "-t", object)
	if err != nil {
		return nil, r.missing(ctx, name, inside)
	}
	names := []string{inside}
	if strings.TrimSpace(string(kind)) == "tree" {
		if names, err = r.list(ctx, object, inside); err != nil {
			return nil, err
		}
	}
	var files []source.File
	for _, name := range names {
		data, err := r.blob(ctx, name)
		if err != nil {
			return nil, err
		}
		if name != inside && profile.IsOther(source.File{Name: name, Data: data}) {
			continue
		}
		files = append(files, profile.Attach(source.File{Name: r.revision + ":" + name, Data: data}, func(beside string) ([]byte, error) {
			return r.blob(ctx, path.Join(path.Dir(name), beside))
		}))
	}
	return profile.WithoutAttachments(files, func(f source.File, beside string) string {
		return r.revision + ":" + path.Join(path.Dir(strings.TrimPrefix(f.Name, r.revision+":")), beside)
	}), nil
}

// inside returns a path relative to the root of the repository; empty for the root.
func (r *repository) inside(name string) (string, error) {
	inside := name
	if name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		inside = path.Join(r.prefix, name)
	}
	inside = strings.TrimPrefix(path.Clean("/"+inside), "/")
	if strings.HasPrefix(path.Join(r.prefix, name), "../") && strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("%w: %s is outside of the repository", ErrGit, name)
	}
	return inside, nil
}

// missing returns an error for a missing path that suggests an existing one.
func (r *repository) missing(ctx context.Context, name, inside string) error {
	if here := path.Join(r.prefix, name); here != inside {
		if _, err := git(ctx, "cat-file", "-e", r.commit+":"+here); err == nil {
			return fmt.Errorf("%w: revision %s has no %s at the root of the repository; did you mean %s:./%s?", ErrGit, r.revision, name, r.revision, name)
		}
	}
	return fmt.Errorf("%w: revision %s has no %s", ErrGit, r.revision, inside)
}

// list returns the profiles of a folder, by the same rule as folder.Read.
func (r *repository) list(ctx context.Context, tree, inside string) ([]string, error) {
	out, err := git(ctx, "ls-tree", "--full-tree", "-z", tree)
	if err != nil {
		return nil, fmt.Errorf("%w: listing %s:%s: %w", ErrGit, r.revision, inside, err)
	}
	var names []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		head, name, ok := strings.Cut(entry, "\t")
		if fields := strings.Fields(head); !ok || len(fields) < 2 || fields[1] != "blob" {
			continue
		}
		if !strings.HasPrefix(name, ".") && folder.IsYAML(name) {
			names = append(names, path.Join(inside, name))
		}
	}
	return names, nil
}

func (r *repository) blob(ctx context.Context, inside string) ([]byte, error) {
	data, err := git(ctx, "cat-file", "blob", r.commit+":"+inside)
	if err != nil {
		return nil, fmt.Errorf("%w: %s:%s: %w", ErrGit, r.revision, inside, err)
	}
	return data, nil
}

// git runs git; the error contains its output.
func git(ctx context.Context, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", arguments...) // #nosec G204 -- revisions and paths follow --end-of-options or a hash
	// Answers in English, and nothing that waits for a password.
	command.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	out, err := command.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return nil, errors.New(strings.TrimSpace(strings.TrimPrefix(firstLine(exit.Stderr), "fatal: ")))
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("the program git is not there")
	case err != nil:
		return nil, fmt.Errorf("running git: %w", err)
	}
	return out, nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
