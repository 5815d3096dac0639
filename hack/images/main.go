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
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	line, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
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
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changed != "" {
		revision += "-dirty"
		fmt.Fprintln(os.Stderr, "images: there are changes that are not committed: the digests are not those of the commit")
	}
	return source{version: strings.TrimSpace(string(version)), revision: revision, time: time.Unix(epoch, 0).UTC()}, nil
}

func git(ctx context.Context, root string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = root
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
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
	short := s.revision
	if len(short) > 12 {
		short = short[:12]
	}
	return fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", s.version, short)
}

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
