// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/artifact"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/lint"
)

// packOptions are the flags of graft pack.
type packOptions struct {
	installation profileFlags
	file, tag    string
	format       string
}

// The values of --output of graft pack.
const (
	packOCI       = "oci"
	packConfigMap = "configmap"
	packValues    = "values"
)

// tagForm matches valid tags (OCI distribution specification, "Pulling manifests").
var tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// maximumTag is the greatest length of a tag in characters.
const maximumTag = 128

func newPackCommand(s *Streams) *cobra.Command {
	o := &packOptions{}
	command := &cobra.Command{
		Use:   "pack <file|folder>...",
		Short: "Pack profiles for an installation: an OCI image, ConfigMaps or Helm values",
		Long: `Pack profiles for an installation: an OCI image, ConfigMaps or Helm values.

The result contains the profiles and the files that they name. The charts mount images as volumes. The same
files give the same image; use the printed digest in the installation. If two profiles name different files of
the same name, the image has them in folders of the profiles. Helm values are for the extension's chart
(ProviderProfiles) or the chart graft-profiles (other kinds).

The file is an archive of an OCI layout. Copy it to a registry with oras or skopeo
(docs/operations/packaging.md). Profiles with lint errors, other documents and profiles of several kinds are not
packed; the exit status is 1.`,
		Example: `  # an image of a profile
  graft pack example/profiles/openstack/profile.yaml --output-file openstack.tar --tag v1.2.3

  # a ConfigMap that the extension reads
  graft pack example/profiles/openstack/profile.yaml -o configmap

  # several profiles for one installation
  graft pack example/network/acme.yaml example/network/vlan.yaml --output-file pools.tar`,
		Args: atLeastOne("the files or folders with the profiles"),
		RunE: func(_ *cobra.Command, paths []string) error { return o.run(s, paths) },
	}
	set := command.Flags()
	set.StringVarP(&o.format, "output", "o", packOCI, "output format: oci, configmap, values")
	set.StringVar(&o.file, "output-file", "", "file to write, completely or not at all (default: standard output, except for oci)")
	set.StringVar(&o.tag, "tag", "latest", "tag of the image in the file")
	o.installation.addInstallationTo(set)
	choices(command, "output", packOCI+"\tan image", packConfigMap+"\tConfigMaps", packValues+"\tHelm values")
	return command
}

func (o *packOptions) run(s *Streams, paths []string) error {
	switch {
	case o.file == "" && o.format == packOCI:
		return errors.New("name the file or folder for the image with --output-file")
	case len(o.tag) > maximumTag || !tagForm.MatchString(o.tag):
		return fmt.Errorf("--tag %q: use at most %d letters, digits, underscores, dots and dashes, and begin with none of the last two",
			o.tag, maximumTag)
	}
	profiles, err := folder.Read(paths...)
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		return fmt.Errorf("no profile was found in %s", strings.Join(paths, ", "))
	}
	installation, err := o.installation.options()
	if err != nil {
		return err
	}
	options := lint.Options{Options: installation, Override: o.installation.override, Together: true}
	var inputs []lint.Input
	for _, file := range profiles {
		inputs = append(inputs, lint.Input{File: file})
	}
	if report := lint.Check(options, inputs); report.Failed(source.Error) {
		if err := report.Write(s.Err, "text", lint.Style{}); err != nil {
			return err
		}
		return found{}
	}
	if findings := foreignDocuments(profiles); len(findings) > 0 {
		fmt.Fprintln(s.Err, findings.Error())
		return found{}
	}
	return o.write(s, profiles)
}

// write writes the profiles in the form that was chosen.
func (o *packOptions) write(s *Streams, profiles []source.File) error {
	if o.format != packOCI {
		texts, err := namedTexts(profiles)
		if err != nil {
			return err
		}
		form := map[string]func(io.Writer, []named) error{packConfigMap: writeConfigMaps, packValues: writeValues}[o.format]
		if o.file == "" {
			return form(s.Out, texts)
		}
		return writeFile(o.file, func(out io.Writer) error { return form(out, texts) })
	}
	files, err := artifact.Collect(artifact.Distinct(profiles))
	if err != nil {
		return err
	}
	var digest string
	if err := writeFile(o.file, func(out io.Writer) (err error) {
		digest, err = artifact.Write(out, files, o.tag)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, digest)
	fmt.Fprintf(s.Err, "packed %s into %s\n", counted(len(files), "file", "files"), o.file)
	return nil
}

// foreignDocuments finds documents that the program which mounts an image would refuse: those that are no profiles, and
// profiles of another kind than the first.
func foreignDocuments(files []source.File) source.Findings {
	kinds := []string{profilev1alpha1.KindProviderProfile, profilev1alpha1.KindNetworkProfile, profilev1alpha1.KindInterpreterProfile}
	parts, _ := profile.Parse(files...) // which lint has read
	var findings source.Findings
	var first source.Node
	for _, part := range parts {
		switch kind := part.Node.Get("kind"); {
		case !slices.Contains(kinds, kind.Value):
			findings = append(findings, kind.Finding("kind", "%s is not a profile: an image contains only %s",
				kind.Value, strings.Join(kinds, ", ")).Of(source.UnknownKind))
		case first.Node == nil:
			first = kind
		case kind.Value != first.Value:
			findings = append(findings, kind.Finding("kind",
				"%s cannot be in an image with the %s at %s: different programs read them; make an image for each kind",
				kind.Value, first.Value, first.Position()).Of(source.UnknownKind))
		}
	}
	return findings
}

// delivery describes how profiles of a kind are installed (charts/graft-profiles and
// charts/gardener-extension-provider-graft).
type delivery struct {
	// label marks the ConfigMap, and configMap is its name; empty: each profile has a ConfigMap of its own.
	label, configMap string
	// value is the Helm value that has the profiles by name.
	value string
}

var deliveries = map[string]delivery{
	profilev1alpha1.KindProviderProfile:    {"graft.provider.extensions.gardener.cloud/profile", "", "profiles"},
	profilev1alpha1.KindNetworkProfile:     {"graft.provider.extensions.gardener.cloud/network-profiles", "graft-network-profiles", "networkProfiles"},
	profilev1alpha1.KindInterpreterProfile: {"graft.provider.extensions.gardener.cloud/interpreter-profiles", "graft-interpreter-profiles", "interpreterProfiles"},
}

// named is a file with profiles, by the name of the first of them.
type named struct {
	name, kind string
	// texts are the profile and the files that it names, by keys of a ConfigMap.
	texts map[string]string
}

// namedTexts returns the files as a ConfigMap or Helm values have them. The name of the first document names the file.
func namedTexts(files []source.File) ([]named, error) {
	var all []named
	for _, file := range files {
		parts, _ := profile.Parse(file) // lint has read them
		if len(parts) == 0 {
			continue
		}
		n := named{parts[0].Node.Get("metadata").Get("name").Value, parts[0].Node.Get("kind").Value, map[string]string{"profile.yaml": string(file.Data)}}
		for path, data := range file.Attachments {
			if !utf8.Valid(data) {
				return nil, fmt.Errorf("%s is not text: write an image (-o oci)", path)
			}
			n.texts[folder.KeyOf(path)] = string(data)
		}
		if slices.ContainsFunc(all, func(other named) bool { return other.name == n.name }) {
			return nil, fmt.Errorf("two files have a profile with the name %s", n.name)
		}
		all = append(all, n)
	}
	return all, nil
}

// writeConfigMaps writes a ConfigMap for each ProviderProfile, or one for all profiles of another kind.
func writeConfigMaps(out io.Writer, files []named) error {
	data := map[string]map[string]string{}
	for _, file := range files {
		if name := deliveries[file.kind].configMap; name != "" {
			if data[name] == nil {
				data[name] = map[string]string{}
			}
			data[name][file.name+".yaml"] = file.texts["profile.yaml"]
		} else {
			data["graft-profile-"+file.name] = file.texts
		}
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintln(out, "---")
		if err := writeYAML(out, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data[name],
			"metadata": map[string]any{"name": name, "labels": map[string]string{deliveries[files[0].kind].label: "true"}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// writeValues writes the Helm values of the chart that installs the profiles.
func writeValues(out io.Writer, files []named) error {
	profiles := map[string]any{}
	for _, file := range files {
		profiles[file.name] = file.texts
		if len(file.texts) == 1 {
			profiles[file.name] = file.texts["profile.yaml"]
		}
	}
	return writeYAML(out, map[string]any{deliveries[files[0].kind].value: profiles})
}
