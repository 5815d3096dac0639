// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// binaries is a folder with the programs of one platform, and the folders of the modules that they link.
type binaries struct {
	folder, platform string
	modules          map[string]string // folders by module path; that of Go itself is under std
}

func (b *binaries) remove() { _ = os.RemoveAll(b.folder) }

// build compiles all programs for a platform. The binaries contain no local paths and no state of git.
func build(ctx context.Context, o options, platform string) (*binaries, error) {
	folder, err := os.MkdirTemp("", "graft-images-")
	if err != nil {
		return nil, err
	}
	b := &binaries{folder: folder, platform: platform, modules: map[string]string{}}
	var packages []string
	for _, p := range o.programs {
		packages = append(packages, p.packages...)
	}
	fmt.Fprintf(o.stdout, "==> programs for %s (the first time, some minutes pass while dependencies are compiled)\n", platform)
	arguments := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", o.source.flags(), "-o", folder + string(filepath.Separator)}, packages...)
	if _, err := b.run(ctx, o, arguments); err != nil {
		b.remove()
		return nil, err
	}
	if err := b.findModules(ctx, o, packages); err != nil {
		b.remove()
		return nil, fmt.Errorf("finding the modules: %w", err)
	}
	return b, nil
}

// run runs the go command with fixed CPU levels (GOAMD64, GOARM64), so that the environment does not change the binaries.
func (b *binaries) run(ctx context.Context, o options, arguments []string) (string, error) {
	system, architecture, _ := strings.Cut(b.platform, "/")
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = o.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", arguments[0], err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

func (b *binaries) findModules(ctx context.Context, o options, packages []string) error {
	listed, err := b.run(ctx, o, append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"}, packages...))
	if err != nil {
		return err
	}
	for line := range strings.Lines(listed) {
		if name, folder, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			b.modules[name] = folder
		}
	}
	std, err := b.run(ctx, o, []string{"env", "GOROOT"})
	b.modules["std"] = strings.TrimSpace(std)
	return err
}

// binary is one compiled program.
type binary struct {
	name string
	data []byte
	info *buildinfo.BuildInfo
}

// read returns the programs of an image in the order of the image.
func (b *binaries) read(p program) ([]binary, error) {
	var out []binary
	for _, pkg := range p.packages {
		file := filepath.Join(b.folder, path.Base(pkg))
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("reading what Go says of %s: %w", pkg, err)
		}
		out = append(out, binary{name: path.Base(pkg), data: data, info: info})
	}
	return out, nil
}
