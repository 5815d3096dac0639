// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cliArchives writes one archive per platform with the command-line programs and the licences of their modules. The same commit and the same
// Go version give the same bytes.
func (o options) cliArchives(ctx context.Context, built map[string]*binaries) error {
	at := slices.IndexFunc(o.programs, func(p program) bool { return p.cli })
	if at < 0 {
		return nil
	}
	p := o.programs[at]
	p.certificates = false // the machine has its own
	for _, platform := range o.cli {
		if err := o.cliPlatform(ctx, p, platform, built[platform]); err != nil {
			return err
		}
	}
	return nil
}

// cliPlatform writes the archive of one platform. It builds the programs if they are not built yet (b is nil).
func (o options) cliPlatform(ctx context.Context, p program, platform string, b *binaries) error {
	if b == nil {
		alone := o
		alone.programs = []program{p}
		var err error
		if b, err = build(ctx, alone, platform); err != nil {
			return fmt.Errorf("building for %s: %w", platform, err)
		}
		defer b.remove()
	}
	if err := o.cliArchive(p, b); err != nil {
		return fmt.Errorf("archiving for %s: %w", platform, err)
	}
	return nil
}

// cliArchive writes the archive of one platform and prints its digest.
func (o options) cliArchive(p program, b *binaries) error {
	programs, err := b.read(p)
	if err != nil {
		return err
	}
	parts, err := o.parts(p, b, programs)
	if err != nil {
		return fmt.Errorf("finding the parts: %w", err)
	}
	name := p.name + "-" + o.source.version + "-" + strings.ReplaceAll(b.platform, "/", "-")
	files := map[string]file{}
	for _, program := range programs {
		files[name+"/"+program.name] = file{data: program.data, mode: 0o755}
	}
	for _, part := range parts {
		for licence, text := range part.texts {
			files[name+"/licenses/"+part.folder()+"/"+licence] = file{data: text, mode: 0o644}
		}
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := writeTar(compressed, o.source.time, files); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	path := filepath.Join(o.out, name+".tar.gz")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.stdout, "sha256:%x %s\n", sha256.Sum256(out.Bytes()), path)
	return err
}
