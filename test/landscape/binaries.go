// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoBinaries is wrapped by the error of [Start] when etcd or kube-apiserver has not been built.
var ErrNoBinaries = errors.New("etcd and kube-apiserver have not been built: run `make tools` in the root of the " +
	"repository")

// findBinaries returns the absolute path of the folder with the servers.
func findBinaries(folder string) (string, error) {
	if folder == "" {
		root, err := findRoot()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(root, ".cache", "tools", "bin")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("finding the servers: %w", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoBinaries, err)
		}
	}
	return folder, nil
}

// findRoot returns the folder of the go.mod above the working directory. `go test` runs a test in the folder of its
// package.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		_, err := os.Stat(filepath.Join(folder, "go.mod"))
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("finding the module: %w", err)
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("finding the module: no go.mod in %s or above it", start)
		}
	}
}

// collection makes the servers collect garbage less often, until they have a gigabyte. With Go's defaults they spend a
// quarter of their CPU time on it while they start.
const collection = "GOGC=400 GOMEMLIMIT=1GiB"

// launcher creates a script that executes a server with the settings of collection, and returns its path. They
// are not in the environment of the test, which the tested programs inherit.
func (l *Landscape) launcher(server string) (string, error) {
	path := filepath.Join(l.folder, "start-"+server)
	const script = "#!/bin/sh\n%s exec '%s' \"$@\"\n"
	content := fmt.Appendf(nil, script, collection, filepath.Join(l.binaries, server))
	if err := os.WriteFile(path, content, 0o700); err != nil {
		return "", fmt.Errorf("creating the launcher of a server: %w", err)
	}
	return path, nil
}

// openLog creates the file for the output of a server.
func (l *Landscape) openLog(server string) (*os.File, error) {
	file, err := os.Create(filepath.Join(l.folder, server+".log"))
	if err != nil {
		return nil, fmt.Errorf("creating a log: %w", err)
	}
	l.logs = append(l.logs, file)
	return file, nil
}

// lastLines returns the last lines of the servers' logs, for the error of a failed start.
func (l *Landscape) lastLines() string {
	const lines = 12
	var text bytes.Buffer
	for _, log := range l.logs {
		content, err := os.ReadFile(log.Name())
		if err != nil || len(content) == 0 {
			continue
		}
		all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
		all = all[max(0, len(all)-lines):]
		fmt.Fprintf(&text, "\n%s ends with:\n%s", filepath.Base(log.Name()), bytes.Join(all, []byte("\n")))
	}
	return text.String()
}
