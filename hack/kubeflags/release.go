// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

//go:embed program.go.tmpl
var programSource string

var program = template.Must(template.New("program").Parse(programSource))

// configuration is the program's argument for the fields of the KubeletConfiguration.
const configuration = "KubeletConfiguration"

// dump is the data of one release, by component and under configuration.
type dump struct {
	release string
	minor   kubeflags.Minor
	parts   map[string]componentDump
}

// componentDump is the program's output for one argument.
type componentDump struct {
	Flags   map[string]flagOf `json:"flags"`
	Gates   map[string]gateOf `json:"gates"`
	Fields  map[string]string `json:"fields"`
	Plugins string            `json:"plugins"`
}

type flagOf struct {
	Type       string `json:"type"`
	Deprecated string `json:"deprecated"`
}

type gateOf struct {
	Default bool   `json:"default"`
	Stage   string `json:"stage"`
	Locked  bool   `json:"locked"`
}

// readRelease returns the data of a release. It compiles the program unless the result is cached: the folder has the
// name of the release and a checksum of the program.
func readRelease(cache, release string) (dump, error) {
	d := dump{release: release, parts: map[string]componentDump{}}
	if _, err := fmt.Sscanf(release, "v1.%d.", &d.minor); err != nil {
		return d, fmt.Errorf("%q is not a release such as v1.34.4", release)
	}
	folder := filepath.Join(cache, fmt.Sprintf("%s-%.4x", release, sha256.Sum256([]byte(programSource))))
	if _, err := os.Stat(filepath.Join(folder, configuration+".json")); err != nil {
		if err := compile(folder, release); err != nil {
			return d, err
		}
	}
	for _, name := range append(slices.Clone(components), configuration) {
		data, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			return d, err
		}
		var p componentDump
		if err := json.Unmarshal(data, &p); err != nil {
			return d, fmt.Errorf("reading what %s printed: %w", name, err)
		}
		d.parts[name] = p
	}
	return d, nil
}

// compile builds the program in its own module and runs it once for each component, because components in one
// process share feature gates.
func compile(folder, release string) error {
	started := time.Now()
	log.Printf("==> compiling against Kubernetes %s, once (several minutes on two cores)", release)
	kubernetes, err := download(release)
	if err != nil {
		return err
	}
	if err := checkGates(kubernetes); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), writeModule(folder, kubernetes, release)); err != nil {
		return err
	}
	// Packages of Kubernetes are compiled without optimization, which is faster; the program runs for
	// milliseconds only.
	err = run(folder, nil, "go", "build", "-mod=mod", "-trimpath", "-p", "1", "-gcflags=k8s.io/...=-N -l", "-ldflags="+linkerFlags(release), "-o", "dump", ".")
	if err != nil {
		return err
	}
	for _, name := range append(slices.Clone(components), configuration) {
		var out bytes.Buffer
		if err := run(folder, &out, "./dump", name); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	log.Printf("    done in %s", time.Since(started).Round(time.Second))
	return nil
}

// linkerFlags returns flags that set the components' version, as in their own build. Without them, they report
// 1.0.
func linkerFlags(release string) string {
	_, minor, _ := strings.Cut(release, ".")
	minor, _, _ = strings.Cut(minor, ".")
	flags := "-s -w"
	for _, path := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]s", path, release, minor)
	}
	return flags
}

// download downloads Kubernetes' module and returns its folder.
func download(release string) (string, error) {
	var out bytes.Buffer
	if err := run("", &out, "go", "mod", "download", "-json", "k8s.io/kubernetes@"+release); err != nil {
		return "", err
	}
	var module struct{ Dir string }
	err := json.Unmarshal(out.Bytes(), &module)
	return module.Dir, err
}

var addGates = regexp.MustCompile(`\b(\w+)\.AddFeatureGates\(`)

// expectedGates lists, by component, the packages that add gates at start; program.go.tmpl does the same.
// Packages that the options import add the remaining flags.
var expectedGates = map[string][]string{
	"kube-apiserver":          {"logsapi"},
	"kube-controller-manager": {"logsapi", "metricsfeatures"},
	"kube-scheduler":          {"features", "logsapi"},
	"kubelet":                 {"logsapi"},
}

// checkGates fails if a component adds other gates than the program.
func checkGates(kubernetes string) error {
	for _, component := range components {
		files, err := filepath.Glob(filepath.Join(kubernetes, "cmd", component, "app", "*.go"))
		if err != nil {
			return err
		}
		var found []string
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, match := range addGates.FindAllSubmatch(data, -1) {
				found = append(found, string(match[1]))
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, expectedGates[component]) {
			return fmt.Errorf("%s adds the feature gates of %v, program.go.tmpl those of %v", component, found, expectedGates[component])
		}
	}
	return nil
}

// writeModule writes go.mod and main.go. Kubernetes requires its own modules in version v0.0.0; they are
// replaced by those of the release, v0.<minor>.<patch>.
func writeModule(folder, kubernetes, release string) error {
	var out bytes.Buffer
	if err := run("", &out, "go", "mod", "edit", "-json", filepath.Join(kubernetes, "go.mod")); err != nil {
		return err
	}
	var module struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out.Bytes(), &module); err != nil {
		return err
	}
	var mod bytes.Buffer
	fmt.Fprintf(&mod, "module dump\n\ngo %s\n\nrequire k8s.io/kubernetes %s\n", module.Go, release)
	for _, required := range module.Require {
		fmt.Fprintf(&mod, "require %s %s\n", required.Path, required.Version)
		if required.Version == "v0.0.0" {
			fmt.Fprintf(&mod, "replace %s => %s v0%s\n", required.Path, required.Path, strings.TrimPrefix(release, "v1"))
		}
	}
	var source bytes.Buffer
	_, err := os.Stat(filepath.Join(kubernetes, "cmd", "kube-apiserver", "app", "options", "globalflags.go"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := program.Execute(&source, struct{ CustomGlobalFlags bool }{err == nil}); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "go.mod"), mod.Bytes(), 0o644),
		os.WriteFile(filepath.Join(folder, "main.go"), source.Bytes(), 0o644),
	)
}

// run runs a command in a folder. Its output goes to out, or to stderr if out is nil.
func run(folder string, out *bytes.Buffer, name string, arguments ...string) error {
	command := exec.CommandContext(context.Background(), name, arguments...)
	command.Dir, command.Stderr, command.Stdout = folder, os.Stderr, os.Stderr
	if out != nil {
		command.Stdout = out
	}
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := command.Run(); err != nil {
		return fmt.Errorf("running %s: %w", name, err)
	}
	return nil
}
