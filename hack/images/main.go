// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command images builds, without a container runtime, the container images of the programs, archives of the command line, and the charts as
// OCI artifacts. It writes archives of OCI layouts with an index of all platforms, and can push them to a registry. An image contains a static
// program, the licences of its modules and, if the program calls public servers, the CA bundle of Mozilla. An SPDX document is attached to
// each image. The same commit and the same Go version give the same digests on any machine.
// Usage: images [-out FOLDER] [-charts FOLDER] [-platforms LIST] [-only LIST] [-cli LIST] [-push REGISTRY]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o := options{programs: programs(), stdout: os.Stdout}
	var platforms, only, cli string
	flag.StringVar(&o.root, "root", ".", "folder of the repository")
	flag.StringVar(&o.out, "out", "bin/images", "folder in which the archives are written")
	flag.StringVar(&o.charts, "charts", "", "folder with archives of charts, which become artifacts; none without it")
	flag.StringVar(&o.push, "push", "", "registry and path below which all is copied, such as registry.example.com/graft; nowhere without it")
	flag.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms, with commas between them")
	flag.StringVar(&cli, "cli", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "platforms of the archives of the command line; none where it is empty")
	flag.StringVar(&only, "only", "", "images to build, with commas between them; all without it")
	flag.Parse()
	err := o.choose(platforms, only)
	if cli != "" {
		o.cli = strings.Split(cli, ",")
	}
	if err == nil {
		err = run(ctx, o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// program is one image.
type program struct {
	// name is the name of the image and of its first program; packages are the packages of all its programs.
	name, description string
	packages          []string
	// certificates adds the CA bundle of Mozilla, for programs that call public servers.
	certificates bool
	// cli adds the programs to the command-line archives.
	cli bool
}

// programs are the images of this repository.
func programs() []program {
	return []program{
		{
			name: "gardener-extension-provider-graft", packages: []string{"./cmd/gardener-extension-provider-graft"},
			description: "Gardener's control-plane webhooks for any cloud, from profiles",
		},
		{
			// Clouds and etcd may have certificates of public CAs.
			name: "graft-network-provider", packages: []string{"./cmd/graft-network-provider"}, certificates: true,
			description: "addresses for DRANET, Spiderpool and Docker, from profiles",
		},
		{
			name: "graft-resource-interpreter", packages: []string{"./cmd/graft-resource-interpreter"},
			description: "what Karmada must know of Gardener's kinds, from profiles",
		},
		{
			name: "graft", packages: []string{"./cmd/graft", "./cmd/graft-controlplane"}, certificates: true, cli: true,
			description: "the command line of teams that write profiles",
		},
	}
}

// options are the parsed flags.
type options struct {
	root, out, charts, push string
	platforms               []string
	// cli are the platforms of the archives of the command line.
	cli      []string
	programs []program
	source   source
	stdout   io.Writer
}

// choose parses the flags.
func (o *options) choose(platforms, only string) error {
	o.platforms = strings.Split(platforms, ",")
	for _, platform := range o.platforms {
		if system, architecture, ok := strings.Cut(platform, "/"); !ok || system == "" || architecture == "" {
			return fmt.Errorf("-platforms: %q is not such as linux/amd64", platform)
		}
	}
	if only == "" {
		return nil
	}
	for _, name := range strings.Split(only, ",") {
		if !slices.ContainsFunc(o.programs, func(p program) bool { return p.name == name }) {
			return fmt.Errorf("-only: there is no image %q", name)
		}
	}
	o.programs = slices.DeleteFunc(o.programs, func(p program) bool { return !slices.Contains(strings.Split(only, ","), p.name) })
	return nil
}

// run builds all images, then the charts, and prints their digests.
func run(ctx context.Context, o options) error {
	if o.source == (source{}) {
		var err error
		if o.source, err = readSource(ctx, o.root); err != nil {
			return fmt.Errorf("asking git: %w", err)
		}
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	built := map[string]*binaries{}
	defer func() {
		for _, b := range built {
			b.remove()
		}
	}()
	for _, platform := range o.platforms {
		b, err := build(ctx, o, platform)
		if err != nil {
			return fmt.Errorf("building for %s: %w", platform, err)
		}
		built[platform] = b
	}
	for _, p := range o.programs {
		if err := o.image(ctx, p, built); err != nil {
			return fmt.Errorf("making the image %s: %w", p.name, err)
		}
	}
	if err := o.cliArchives(ctx, built); err != nil {
		return fmt.Errorf("making the archives of the command line: %w", err)
	}
	if o.charts == "" {
		return nil
	}
	return o.chartArtifacts(ctx)
}
