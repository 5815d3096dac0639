// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// The units and files of an OperatingSystemConfig that Gardener writes (gardener: pkg/apis/core/v1beta1/constants).
const (
	// KubeletUnit is the unit with the kubelet's command line.
	KubeletUnit = "kubelet.service"
	// KubeletConfigurationPath is the file with the KubeletConfiguration.
	KubeletConfigurationPath = "/var/lib/kubelet/config/kubelet"
	// KubeletPath is the kubelet itself, a file by reference to an image whose tag is the version of Kubernetes.
	KubeletPath = "/opt/bin/kubelet"
	// KernelSettingsPath is the file with kernel settings.
	KernelSettingsPath = "/etc/sysctl.d/99-k8s-general.conf"
)

// ErrNodePartMissing means that an OperatingSystemConfig lacks a unit or a file that the contract requires or a rule edits.
var ErrNodePartMissing = errors.New("unit or file missing")

// Flags is a command line, whether of a container or of a unit: the methods of document.CommandLine.
type Flags interface {
	Values(name string) []string
	Has(name string) bool
	Names() []string
	Set(name string, values ...string) error
	SetBare(name string) error
	Remove(name string) error
}

// texts are the documents inside an OperatingSystemConfig that were read, and go back into it when they are flushed.
type texts struct {
	units   map[string]*unitText
	kubelet Flags
	yaml    *yamlText
}

type unitText struct {
	node   *document.Node
	unit   *document.Unit
	before string
}

type yamlText struct {
	content *document.Content
	yaml    *document.YAML
	edits   int
}

// HasKubelet says whether an OperatingSystemConfig has the unit of the kubelet. One that provisions a machine need not.
func (o *Object) HasKubelet() bool {
	return o.Document.Root().Find("spec", "units").ItemWith("name", KubeletUnit) != nil
}

// Unit is the content of a systemd unit, read once; edits of it are in the object after Flush.
func (o *Object) Unit(name string) (*document.Unit, error) {
	if read, ok := o.texts.units[name]; ok {
		return read.unit, nil
	}
	node := o.Document.Root().Find("spec", "units").ItemWith("name", name).Get("content")
	text, ok := node.Text()
	if !ok {
		return nil, fmt.Errorf("%w: there is no unit %s with a content", ErrNodePartMissing, name)
	}
	unit, err := document.UnitOf(text)
	if err != nil {
		return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, name, err)
	}
	if o.texts.units == nil {
		o.texts.units = map[string]*unitText{}
	}
	o.texts.units[name] = &unitText{node, unit, text}
	return unit, nil
}

// kubeletFlags is the command line of the kubelet: the only ExecStart in the section Service of its unit.
func (o *Object) kubeletFlags() (Flags, error) {
	if o.texts.kubelet != nil {
		return o.texts.kubelet, nil
	}
	unit, err := o.Unit(KubeletUnit)
	if err != nil {
		return nil, err
	}
	command, err := unit.Command("Service", "ExecStart")
	if err != nil {
		return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, KubeletUnit, err)
	}
	o.texts.kubelet = command
	return command, nil
}

// File is a file of an OperatingSystemConfig; nil when there is none at the path.
func (o *Object) File(path string) *document.Node {
	return o.Document.Root().Find("spec", "files").ItemWith("path", path)
}

// Content is the inline content of a file.
func (o *Object) Content(path string) (*document.Content, error) {
	inline := o.File(path).Find("content", "inline")
	if inline == nil {
		return nil, fmt.Errorf("%w: there is no file %s with inline content", ErrNodePartMissing, path)
	}
	content, err := document.ContentOf(inline)
	if err != nil {
		return nil, fmt.Errorf("%w: file %s: %w", ErrNested, path, err)
	}
	return content, nil
}

// KubeletConfiguration is the kubelet's configuration file, read once; edits of it are in the object after Flush.
func (o *Object) KubeletConfiguration() (*document.YAML, error) {
	if o.texts.yaml != nil {
		return o.texts.yaml.yaml, nil
	}
	content, err := o.Content(KubeletConfigurationPath)
	if err != nil {
		return nil, err
	}
	yaml, err := document.YAMLOf(content.Text())
	if err != nil {
		return nil, fmt.Errorf("%w: file %s: %w", ErrNested, KubeletConfigurationPath, err)
	}
	if kind, _ := yaml.Get("kind"); kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("%w: file %s is no KubeletConfiguration", ErrNested, KubeletConfigurationPath)
	}
	o.texts.yaml = &yamlText{content: content, yaml: yaml}
	return yaml, nil
}

// Flush writes the units, files and documents that were edited back into the object.
func (o *Object) Flush() error {
	if err := o.flushLenses(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.texts.units)) {
		read := o.texts.units[name]
		if text := read.unit.Text(); text != read.before {
			if err := read.node.Replace(document.Quote(text)); err != nil {
				return fmt.Errorf("writing unit %s: %w", name, err)
			}
			read.before = text
		}
	}
	if y := o.texts.yaml; y != nil && y.yaml.Edits() != y.edits {
		if err := y.content.SetText(y.yaml.Text()); err != nil {
			return fmt.Errorf("writing file %s: %w", KubeletConfigurationPath, err)
		}
		y.edits = y.yaml.Edits()
	}
	return nil
}
