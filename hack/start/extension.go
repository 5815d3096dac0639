// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/test/running"
)

// configuration ends the extension without the delay that a Service needs to forget it.
const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
shutdown: {delay: 0s, timeout: 5s}
`

// extension is the real program in a process of its own.
type extension struct {
	console.Process
	running.Extension
}

// startExtension runs the program with the files and the account that are given. Its log goes to a file.
func startExtension(ctx context.Context, binary, kubeconfig, folder string, profiles []string) (*extension, error) {
	at, err := running.NewExtension(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "extension.yaml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	e := &extension{Process: console.Process{Name: "the extension", Log: filepath.Join(folder, "extension.log")}, Extension: at}
	_ = os.Remove(e.Log)
	arguments := append(append(at.Arguments(config, kubeconfig, profiles...), at.ByURL(extensionNamespace)...), "--leader-election=false")
	return e, e.Start(binary, arguments...)
}

// waitReady returns when /readyz says that admissions would be answered.
func (e *extension) waitReady(ctx context.Context, now func(string)) error {
	return e.told(e.Await(ctx, func(ctx context.Context) error {
		failed, err := e.failedChecks(ctx)
		if err == nil && len(failed) > 0 {
			err = errors.New("waiting for " + strings.Join(failed, ", "))
			now(err.Error())
		}
		return err
	}))
}

// told is an error of the process, with where the whole log is.
func (e *extension) told(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s has all of what was said: %w", near(e.Log), err)
}

// failedChecks are the names of the readiness checks that fail.
func (e *extension) failedChecks(ctx context.Context) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Health+"/readyz?verbose", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return nil, nil
	}
	failed := failedIn(string(body))
	if len(failed) == 0 {
		return nil, errors.New("the answer names no check")
	}
	return failed, nil
}

// failedIn reads the lines "[-]name failed: …" of a verbose answer.
func failedIn(body string) []string {
	var failed []string
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(rest, " ")
			failed = append(failed, strings.TrimSpace(name))
		}
	}
	return failed
}
