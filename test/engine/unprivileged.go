// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// search returns the folders with programs: unpacked packages before installed ones, and Debian's before others.
func (o Options) search() (folders []string) {
	for _, root := range []string{o.Unpacked, "/"} {
		for _, folder := range []string{"usr/sbin", "usr/bin", "sbin", "bin", "usr/local/sbin", "usr/local/bin"} {
			if root != "" {
				folders = append(folders, filepath.Join(root, folder))
			}
		}
	}
	return folders
}

// find returns the path of a program.
func (o Options) find(name string) (string, error) {
	for _, folder := range o.search() {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s", name)
}

// environment returns the environment of all programs on the machine.
func (m *Machine) environment() []string {
	search := append([]string{m.wrappers()}, m.options.search()...)
	all := []string{"PATH=" + strings.Join(search, ":"), "HOME=" + m.Folder}
	if m.options.Unprivileged {
		// The folder for the state and the plugins of a dockerd without root.
		all = append(all, "XDG_RUNTIME_DIR=/run", "XDG_CONFIG_HOME="+filepath.Join(m.Folder, "etc"),
			"XDG_DATA_HOME="+m.Folder)
	}
	if m.options.Unpacked != "" {
		var libraries []string
		for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
			found, _ := filepath.Glob(filepath.Join(m.options.Unpacked, pattern))
			libraries = append(libraries, found...)
		}
		all = append(all, "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	}
	return all
}

// attributes returns the namespaces of the first process.
func (o Options) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS, Setpgid: true,
	}
	if o.Unprivileged {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return a
}

func (m *Machine) wrappers() string { return filepath.Join(m.Folder, "bin") }

// wrapper runs runc without the group of terminals: a user other than root has a single group in a namespace.
const wrapper = `#!/bin/sh
for argument; do
  if [ "$last" = --bundle ]; then sed -i 's/,"gid=5"//' "$argument/config.json"; fi
  last=$argument
done
exec "%s" "$@"
`

// wrap writes the wrapper if it is needed.
func (m *Machine) wrap() error {
	if !m.options.Unprivileged {
		return nil
	}
	runc, err := m.options.find("runc")
	if err != nil {
		return err
	}
	if err := os.Mkdir(m.wrappers(), 0o755); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(m.wrappers(), "runc"), fmt.Appendf(nil, wrapper, runc), 0o755); err != nil {
		return fmt.Errorf("writing a script: %w", err)
	}
	return nil
}
