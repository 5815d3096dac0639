// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/example/profiles"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scaffold"
)

// initOptions are the flags of graft init.
type initOptions struct {
	answers    scaffold.Answers
	mirror     string
	from       string
	yes, force bool
}

func newInitCommand(s *Streams) *cobra.Command {
	o := &initOptions{}
	command := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create a profile with a test and an editor configuration",
		Long: `Create a profile with a test and an editor configuration.

It asks about the cloud. Enter accepts the proposed answer, --yes accepts all, and a flag answers one question. --from copies another
profile, an example or a file, with a new name and provider. The default folder has the name of the profile. Existing files are kept
unless --force is given.`,
		Example: `  # answer questions
  graft init

  # without questions
  graft init acme --provider acme --yes

  # from an example
  graft init my-openstack --from openstack --provider my-openstack --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	a := &o.answers
	set.StringVar(&o.from, "from", "", "profile to copy: an example ("+strings.Join(profiles.Names(), ", ")+"), or the path of a file or folder")
	set.StringVar(&a.Provider, "provider", "", "type of the provider, as in the Shoot (default: the name of the folder)")
	set.StringVar(&a.Name, "name", "", "name of the profile (default: the provider)")
	set.StringVar(&a.Kubernetes, "kubernetes", ">= 1.31", "versions of Kubernetes that the profile supports; empty for all")
	set.BoolVar(&a.ExternalCloudProvider, "external-cloud-provider", true, "flags for an external cloud-controller-manager")
	set.BoolVar(&a.VolumeAttributesClass, "volume-attributes-class", false, "feature gates for VolumeAttributesClass before 1.34, if the shoot has an annotation")
	set.StringVar(&a.MachineImage, "machine-image", "", "image of the sidecar of the machine-controller-manager, with its tag")
	set.StringVar(&a.EtcdClass, "etcd-class", "", "StorageClass for the volumes of etcd-main")
	set.StringVar(&o.mirror, "registry-mirror", "", "mirror of a registry for nodes, such as docker.io=https://mirror.example.com")
	set.StringVar(&a.NodeFile, "node-file", "", "path of a file on each node")
	set.BoolVarP(&o.yes, "yes", "y", false, "ask nothing")
	set.BoolVar(&o.force, "force", false, "write into a folder with files, and replace files of the same name")
	return command
}

func (o *initOptions) run(command *cobra.Command, s *Streams, arguments []string) error {
	if base := filepath.Base(filepath.Join(arguments...)); o.answers.Provider == "" && len(arguments) == 1 && base != "." {
		o.answers.Provider = base
	}
	if !o.yes {
		if err := o.ask(command, s); err != nil {
			return err
		}
	}
	files, left, err := o.files()
	if err != nil {
		return err
	}
	folder := o.answers.Name
	if len(arguments) == 1 {
		folder = arguments[0]
	}
	switch err := files.Write(command.Context(), folder, o.force); {
	case errors.Is(err, scaffold.ErrExists):
		return fmt.Errorf("%w: name another folder, or replace its files with --force", err)
	case err != nil:
		return err
	}
	for _, name := range files.Names() {
		fmt.Fprintln(s.Out, filepath.Join(folder, filepath.FromSlash(name)))
	}
	if len(left) > 0 {
		fmt.Fprintf(s.Err, "%s still name the provider of before; %s lists them\n", counted(len(left), "line", "lines"), filepath.Join(folder, scaffold.ReadmeFile))
	}
	fmt.Fprintf(s.Err, "next: graft test %s, and graft diff -p %s\n", folder, filepath.Join(folder, scaffold.ProfileFile))
	return nil
}

// ask asks for missing answers.
func (o *initOptions) ask(command *cobra.Command, s *Streams) error {
	q := newQuestions(command.Context(), s)
	a := &o.answers
	given := command.Flags().Changed
	ask := func(flag, question string, into *string) {
		if !given(flag) {
			*into = q.text(question, *into)
		}
	}
	if !given("provider") && a.Provider == "" {
		a.Provider = "acme"
	}
	ask("provider", "Type of the provider, as in the Shoot", &a.Provider)
	if !given("name") {
		a.Name = a.Provider
	}
	ask("name", "Name of the profile", &a.Name)
	if o.from == "" {
		ask("kubernetes", "Versions of Kubernetes that it supports", &a.Kubernetes)
		if !given("external-cloud-provider") {
			a.ExternalCloudProvider = q.yes("Does the cloud have a cloud-controller-manager of its own?", a.ExternalCloudProvider)
		}
		if !given("volume-attributes-class") {
			a.VolumeAttributesClass = q.yes("May shoots ask for VolumeAttributesClass before Kubernetes 1.34?", a.VolumeAttributesClass)
		}
		ask("machine-image", "Image that creates machines, with its tag (empty: none)", &a.MachineImage)
		ask("etcd-class", "StorageClass of the volumes of etcd-main (empty: Gardener's)", &a.EtcdClass)
		ask("registry-mirror", "Mirror of a registry for nodes, as docker.io=https://mirror.example.com (empty: none)", &o.mirror)
		ask("node-file", "Path of a file that each node gets (empty: none)", &a.NodeFile)
	}
	return q.err()
}

// files returns the files of the new profile, and the lines that still contain the provider of the original one.
func (o *initOptions) files() (scaffold.Files, []scaffold.Left, error) {
	a := &o.answers
	if a.Provider == "" {
		return nil, nil, errors.New("say the type of the provider with --provider")
	}
	if a.Name == "" {
		a.Name = a.Provider
	}
	a.Registry, a.Mirror, _ = strings.Cut(o.mirror, "=")
	if o.mirror != "" && a.Mirror == "" {
		return nil, nil, fmt.Errorf("--registry-mirror %s: write it as docker.io=https://mirror.example.com", o.mirror)
	}
	if err := a.Check(); err != nil {
		return nil, nil, err
	}
	if o.from == "" {
		files, err := scaffold.New(*a)
		return files, nil, err
	}
	read, file, err := o.source()
	if err != nil {
		return nil, nil, err
	}
	return scaffold.From(read, file, a.Name, a.Provider)
}

// source returns the location of the original profile: an example by its name, or a path.
func (o *initOptions) source() (read func(path string) ([]byte, error), file string, err error) {
	if slices.Contains(profiles.Names(), o.from) {
		return profiles.Files.ReadFile, o.from + "/" + scaffold.ProfileFile, nil
	}
	info, err := os.Stat(o.from)
	if err != nil {
		return nil, "", fmt.Errorf("--from %s is neither a path nor one of the examples %s: %w", o.from, strings.Join(profiles.Names(), ", "), err)
	}
	folder, file := o.from, scaffold.ProfileFile
	if !info.IsDir() {
		folder, file = filepath.Dir(o.from), filepath.Base(o.from)
	}
	return func(path string) ([]byte, error) { return disk.ReadInside(folder, path, disk.DocumentSize) }, file, nil
}

// interrupted returns the error of a context that ended during a question.
func interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	return nil
}
