// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// defaultProfile is shown unless -profile names others.
const defaultProfile = "example/profiles/openstack/profile.yaml"

// options say what to start.
type options struct {
	// root is the folder of the module.
	root string
	// profiles are files or folders.
	profiles []string
	// provider is the value of the namespace's labels; empty for the first provider of the profiles.
	provider string
	sample   sample.Options
	// once ends after the differences.
	once bool
}

// parseOptions reads the command line and the environment (ONCE).
func parseOptions(arguments []string, environment func(string) string, out io.Writer) (options, error) {
	root, err := findRoot()
	if err != nil {
		return options{}, err
	}
	o := options{root: root, once: console.Truthy(environment("ONCE")), sample: sample.Options{Annotations: map[string]string{}}}
	set := flag.NewFlagSet("start", flag.ContinueOnError)
	set.SetOutput(out)
	set.Func("profile", "file or folder with profiles (repeatable; default "+defaultProfile+")", func(value string) error {
		o.profiles = append(o.profiles, value)
		return nil
	})
	set.StringVar(&o.provider, "provider", "", "provider of the shoot and the seed (default: the first of the profiles)")
	set.StringVar(&o.sample.Kubernetes, "kubernetes", "1.34.2", "version of the shoot, 1.31 to 1.34")
	set.BoolVar(&o.sample.HighAvailability, "ha", false, "a highly available control plane")
	set.BoolVar(&o.sample.IPv6, "ipv6", false, "networks with IPv6 only")
	set.Func("annotations", "annotations of the shoot: key=value,key=value (repeatable)", func(value string) error {
		return annotate(o.sample.Annotations, value)
	})
	set.BoolVar(&o.once, "once", o.once, "end after the differences, with status 1 if something is not as the profiles say")
	if err := set.Parse(arguments); err != nil {
		return options{}, err
	}
	if set.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: there are flags only, see -help", set.Arg(0))
	}
	if len(o.profiles) == 0 {
		o.profiles = []string{filepath.Join(root, filepath.FromSlash(defaultProfile))}
	}
	return o, nil
}

func annotate(annotations map[string]string, list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q is not key=value", pair)
		}
		annotations[key] = value
	}
	return nil
}

// findRoot is the folder of the go.mod at or above the working directory.
func findRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for folder := here; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("finding the repository: run this in it, best by `make start`")
		}
	}
}

// near writes a path as it is typed in the working directory.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}
