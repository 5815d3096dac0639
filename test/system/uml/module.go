// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package uml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// modules is Debian's folder of kernel modules for user-mode Linux. It has a folder for each release.
const modules = "/usr/lib/uml/modules"

// load inserts modules into the kernel, each after its dependencies.
func load(names []string) error {
	folder, err := release()
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "modules.dep"))
	if err != nil {
		return fmt.Errorf("reading the list of modules: %w", err)
	}
	files := dependencies(string(raw))
	for _, name := range names {
		chain, ok := files[name]
		if !ok {
			return fmt.Errorf("loading modules: there is no kernel module %s in %s", name, folder)
		}
		for _, file := range chain {
			if err := insert(filepath.Join(folder, file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// release returns the folder of the running kernel.
func release() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("reading the kernel's release: %w", err)
	}
	return filepath.Join(modules, unix.ByteSliceToString(name.Release[:])), nil
}

// dependencies parses modules.dep. It returns the files of each module and its dependencies, in loading order.
func dependencies(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		file, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		chain := append([]string{file}, strings.Fields(needs)...)
		slices.Reverse(chain)
		all[strings.TrimSuffix(filepath.Base(file), ".ko")] = chain
	}
	return all
}

// insert inserts a module into the kernel. It succeeds if the kernel has it already.
func insert(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("loading a module: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("loading %s: %w", filepath.Base(path), err)
	}
	return nil
}
