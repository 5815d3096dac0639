// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command images builds, without a container runtime, the container images of the programs, archives of the command line, and the charts as
// OCI artifacts. It writes archives of OCI layouts with an index of all platforms, and can push them to a registry. An image contains a static
// program, the licences of its modules and, if the program calls public servers, the CA bundle of Mozilla. An SPDX document is attached to
// each image. The same commit and the same Go version give the same digests on any machine.
// Usage, in the root of the repository: images [-charts FOLDER] [-platforms LIST] [-only LIST] [-cli LIST] [-push REGISTRY]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o := options{root: ".", out: "bin/images", programs: programs(), stdout: os.Stdout}
	var platforms, only, cli string
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
	// platforms are the platforms of images, cli those of the command-line archives.
	platforms, cli []string
	programs       []program
	source         source
	stdout         io.Writer
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
	chosen := strings.Split(only, ",")
	for _, name := range chosen {
		if !slices.ContainsFunc(o.programs, func(p program) bool { return p.name == name }) {
			return fmt.Errorf("-only: there is no image %q", name)
		}
	}
	o.programs = slices.DeleteFunc(o.programs, func(p program) bool { return !slices.Contains(chosen, p.name) })
	return nil
}

// run builds the programs, the images, the archives of the command line and the charts, and prints their digests.
func run(ctx context.Context, o options) error {
	if o.source == (source{}) {
		var err error
		if o.source, err = readSource(ctx, o.root); err != nil {
			return fmt.Errorf("asking git: %w", err)
		}
	}
	folder, err := os.MkdirTemp("", "graft-images-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	forCLI := slices.DeleteFunc(slices.Clone(o.programs), func(p program) bool { return !p.cli })
	built := map[string]*binaries{}
	for _, platform := range slices.Concat(o.platforms, o.cli) {
		programs := forCLI
		if slices.Contains(o.platforms, platform) {
			programs = o.programs
		}
		if built[platform] != nil || len(programs) == 0 {
			continue
		}
		if built[platform], err = o.build(ctx, filepath.Join(folder, platform), platform, programs); err != nil {
			return fmt.Errorf("building for %s: %w", platform, err)
		}
	}
	for _, p := range o.programs {
		if err := o.image(ctx, p, built); err != nil {
			return fmt.Errorf("making the image %s: %w", p.name, err)
		}
	}
	for _, p := range forCLI {
		for _, platform := range o.cli {
			if err := o.cliArchive(p, built[platform]); err != nil {
				return fmt.Errorf("archiving the command line for %s: %w", platform, err)
			}
		}
	}
	return o.chartArtifacts(ctx)
}

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
	line, err := output(exec.CommandContext(ctx, "git", "-C", root, "show", "--no-patch", "--format=%H %ct", "HEAD"))
	if err != nil {
		return source{}, err
	}
	changed, err := output(exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain"))
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
	if changed != "" {
		revision += "-dirty"
		fmt.Fprintln(os.Stderr, "images: there are changes that are not committed: the digests are not those of the commit")
	}
	return source{version: strings.TrimSpace(string(version)), revision: revision, time: time.Unix(epoch, 0).UTC()}, nil
}

// output runs a command and returns its trimmed output. The error contains the command's standard error.
func output(command *exec.Cmd) (string, error) {
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(string(out)), nil
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
	return fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%.12s", s.version, s.revision)
}

// binaries is a folder with the programs of one platform, and the folders of the modules that they link.
type binaries struct {
	folder, platform string
	modules          map[string]string // folders by module path; Go's library has the path std
}

// build compiles programs for a platform into a folder. The binaries contain no local paths and no state of git.
func (o options) build(ctx context.Context, folder, platform string, programs []program) (*binaries, error) {
	var packages []string
	for _, p := range programs {
		packages = append(packages, p.packages...)
	}
	fmt.Fprintf(o.stdout, "==> programs for %s (the first time, some minutes pass while dependencies are compiled)\n", platform)
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", o.source.flags(), "-o", folder + string(filepath.Separator)}
	if _, err := o.run(ctx, platform, append(arguments, packages...)...); err != nil {
		return nil, err
	}
	listed, err := o.run(ctx, platform, append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"}, packages...)...)
	if err != nil {
		return nil, err
	}
	std, err := o.run(ctx, platform, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	b := &binaries{folder: folder, platform: platform, modules: map[string]string{"std": std}}
	for line := range strings.Lines(listed) {
		if name, folder, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			b.modules[name] = folder
		}
	}
	return b, nil
}

// run runs the go command with fixed CPU levels (GOAMD64, GOARM64), so that the environment does not change the binaries.
func (o options) run(ctx context.Context, platform string, arguments ...string) (string, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = o.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	return output(command)
}
