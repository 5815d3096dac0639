// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const repository = "https://github.com/graft-provider/gardener-extension-provider-graft"

// source describes the commit of an image. All times in the image are the time of the commit, so that builds are reproducible.
type source struct {
	version, revision string
	time              time.Time
}

// readSource reads the commit from git. SOURCE_DATE_EPOCH, in seconds since 1970, replaces the time of the commit.
func readSource(ctx context.Context, root string) (source, error) {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return source{}, err
	}
	line, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	revision, seconds, _ := strings.Cut(line, " ")
	if given := os.Getenv("SOURCE_DATE_EPOCH"); given != "" {
		seconds = given
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		revision += "-dirty"
		fmt.Fprintln(os.Stderr, "images: there are changes that are not committed: the digests are not those of the commit")
	}
	return source{version: strings.TrimSpace(string(version)), revision: revision, time: time.Unix(epoch, 0).UTC()}, nil
}

func git(ctx context.Context, root string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = root
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// annotations returns the OCI annotations of all images and charts.
func (s source) annotations(title, description string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.created":     s.time.Format(time.RFC3339),
		"org.opencontainers.image.description": description,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.revision":    s.revision,
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.title":       title,
		"org.opencontainers.image.vendor":      "The Graft authors",
		"org.opencontainers.image.version":     s.version,
	}
}

// flags returns the linker flags of `make build`: no symbol table, version and commit.
func (s source) flags() string {
	short := s.revision
	if len(short) > 12 {
		short = short[:12]
	}
	return fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", s.version, short)
}
