// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
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
	Bare(name string) bool
	Names() []string
	Set(name string, values ...string) error
	SetBare(name string) error
	Remove(name string) error
}

// texts are the documents inside an OperatingSystemConfig that were read, and go back into it when they are flushed.
type texts struct {
	units []*unitText
	yaml  *yamlText
	past  int // edits of texts that were read again since
}

// unitText is a unit that was read.
type unitText struct {
	place
	name    string
	unit    *document.Unit
	command *document.UnitCommand
}

type yamlText struct {
	place
	content *document.Content
	yaml    *yamledit.File
}

// place is where a text stands, with its JSON, the edits of the text and those of the object when it was read or flushed.
type place struct {
	node          *document.Node
	now           []byte
	edits, object int
}

// stands says whether nobody has written the place in another way since.
func (p *place) stands(o *Object, find func() *document.Node) bool {
	if p.object == o.Document.Edits() {
		return true
	}
	if find() != p.node || !bytes.Equal(p.node.Raw(), p.now) {
		return false
	}
	p.object = o.Document.Edits()
	return true
}

// flushed notes that the place holds the text with so many edits.
func (p *place) flushed(o *Object, edits int) {
	p.now, p.edits, p.object = p.node.Raw(), edits, o.Document.Edits()
}

// HasKubelet says whether an OperatingSystemConfig has the unit of the kubelet. One that provisions a machine need not.
func (o *Object) HasKubelet() bool {
	return o.Document.Root().Find("spec", "units").ItemWith("name", KubeletUnit) != nil
}

// Unit is the content of a systemd unit, read once; edits of it are in the object after Flush.
func (o *Object) Unit(name string) (*document.Unit, error) {
	read, err := o.readUnit(name)
	if err != nil {
		return nil, err
	}
	return read.unit, nil
}

func (o *Object) readUnit(name string) (*unitText, error) {
	find := func() *document.Node {
		return o.Document.Root().Find("spec", "units").ItemWith("name", name).Get("content")
	}
	i := slices.IndexFunc(o.texts.units, func(u *unitText) bool { return u.name == name })
	if i >= 0 && o.texts.units[i].stands(o, find) {
		return o.texts.units[i], nil
	}
	node := find()
	if node.Kind() != document.String {
		return nil, fmt.Errorf("%w: there is no unit %s with a content", ErrNodePartMissing, name)
	}
	unit, err := document.UnitAt(node)
	if err != nil {
		return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, name, err)
	}
	read := &unitText{place: place{node: node}, name: name, unit: unit}
	read.flushed(o, 0)
	if i >= 0 {
		o.texts.past += o.texts.units[i].unit.Edits()
		o.texts.units[i] = read
	} else {
		o.texts.units = append(o.texts.units, read)
	}
	return read, nil
}

// kubeletFlags is the command line of the kubelet: the only ExecStart in the section Service of its unit.
func (o *Object) kubeletFlags() (Flags, error) {
	read, err := o.readUnit(KubeletUnit)
	if err != nil {
		return nil, err
	}
	if read.command == nil {
		if read.command, err = read.unit.Command("Service", "ExecStart"); err != nil {
			return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, KubeletUnit, err)
		}
	}
	return read.command, nil
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
func (o *Object) KubeletConfiguration() (*yamledit.File, error) {
	find := func() *document.Node { return o.File(KubeletConfigurationPath).Find("content", "inline", "data") }
	if y := o.texts.yaml; y != nil && y.stands(o, find) {
		return y.yaml, nil
	}
	content, err := o.Content(KubeletConfigurationPath)
	if err != nil {
		return nil, err
	}
	yaml, err := yamledit.Parse(content.Text())
	if err != nil {
		return nil, fmt.Errorf("%w: file %s: %w", ErrNested, KubeletConfigurationPath, err)
	}
	if kind, _ := yaml.Get("kind"); kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("%w: file %s is no KubeletConfiguration", ErrNested, KubeletConfigurationPath)
	}
	if o.texts.yaml != nil {
		o.texts.past += o.texts.yaml.yaml.Edits()
	}
	o.texts.yaml = &yamlText{place: place{node: find()}, content: content, yaml: yaml}
	o.texts.yaml.flushed(o, 0)
	return yaml, nil
}

// Edits counts the edits of the object made so far, those that are not flushed included.
func (o *Object) Edits() int {
	edits := o.Document.Edits() + o.texts.past
	for _, u := range o.texts.units {
		edits += u.unit.Edits()
	}
	if y := o.texts.yaml; y != nil {
		edits += y.yaml.Edits()
	}
	return edits
}

// Flush writes the units, files and documents that were edited back into the object. It must be called before they are read
// or written there in another way than through Unit, CommandLine and KubeletConfiguration.
func (o *Object) Flush() error {
	if err := o.flushLenses(); err != nil {
		return err
	}
	for _, u := range o.texts.units {
		if u.unit.Edits() == u.edits {
			continue
		}
		if err := u.node.ReplaceText(u.unit.Text()); err != nil {
			return fmt.Errorf("writing unit %s: %w", u.name, err)
		}
		u.flushed(o, u.unit.Edits())
	}
	if y := o.texts.yaml; y != nil && y.yaml.Edits() != y.edits {
		if err := y.content.SetText(y.yaml.Text()); err != nil {
			return fmt.Errorf("writing file %s: %w", KubeletConfigurationPath, err)
		}
		y.flushed(o, y.yaml.Edits())
	}
	return nil
}
