// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// ErrContainerMissing means that the pod template has no container of the name that the contract requires or a rule
// names.
var ErrContainerMissing = errors.New("container missing")

// ErrNested means that something inside the object, such as a command line or the value of a flag, cannot be read.
var ErrNested = errors.New("nested document unreadable")

// Object is a document as an object of the contract.
type Object struct {
	Target *Target
	Form   *Form
	// Document is the object, with the edits made so far.
	Document *document.Document
	// Old is the current object in the cluster, or nil during its creation.
	Old *document.Document

	commandLines map[string]*commandline.CommandLine
	editors      map[string]Editor
	past         int // edits through editors that were flushed
}

// PodTemplate returns spec.template, or nil.
func (o *Object) PodTemplate() *document.Node { return o.Document.Root().Find("spec", "template") }

// PodSpec returns spec.template.spec, or nil.
func (o *Object) PodSpec() *document.Node { return o.PodTemplate().Get("spec") }

// BeingDeleted reports whether the object has a deletion timestamp. Such objects are not mutated.
func (o *Object) BeingDeleted() bool {
	return o.Document.Root().Find("metadata", "deletionTimestamp").Kind() == document.String
}

// Purpose returns the purpose of an OperatingSystemConfig, or an empty string for other objects.
func (o *Object) Purpose() string {
	if o.Form.Kind != "OperatingSystemConfig" {
		return ""
	}
	original := o.Document.Original().Find("spec", "purpose")
	for _, known := range [...]string{"reconcile", "provision"} { // without a copy
		if original.Is(known) {
			return known
		}
	}
	purpose, _ := original.Text()
	return purpose
}

// OwnContainer returns the container that the contract requires. It ignores init containers. It fails with
// ErrContainerMissing.
func (o *Object) OwnContainer() (*document.Node, error) {
	if container := o.PodSpec().Get("containers").ItemWith("name", o.Target.Container); container != nil {
		return container, nil
	}
	return nil, o.missing(o.Target.Container)
}

// ImageVersion returns the version of Kubernetes that the object runs: the tag of its own container's image, or of the
// kubelet's image in an OperatingSystemConfig, without the leading v. It returns an empty string if the tag is not a
// version.
func (o *Object) ImageVersion() string {
	var image string
	switch {
	case o.Target.Versioned:
		image, _ = o.PodSpec().Get("containers").ItemWith("name", o.Target.Container).Get("image").Text()
	case o.Form.Kind == "OperatingSystemConfig":
		image, _ = o.File(KubeletPath).Find("content", "imageRef", "image").Text()
	}
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return strings.TrimPrefix(tag, "v")
}

// Container finds a container of the pod template, or an init container, by its name. It fails with
// ErrContainerMissing.
func (o *Object) Container(name string) (*document.Node, error) {
	for _, list := range []string{"containers", "initContainers"} {
		if container := o.PodSpec().Get(list).ItemWith("name", name); container != nil {
			return container, nil
		}
	}
	return nil, o.missing(name)
}

func (o *Object) missing(container string) error {
	return fmt.Errorf("%w: the pod template of %s has no container named %q", ErrContainerMissing, o.Form, container)
}

// CommandLine returns the command line of a container, or of the kubelet in an OperatingSystemConfig. It is parsed once
// and reflects the edits made through it. It fails with ErrNested if it cannot be parsed.
func (o *Object) CommandLine(container string) (Flags, error) {
	if o.Form.Kind == "OperatingSystemConfig" {
		return o.kubeletFlags()
	}
	if line, ok := o.commandLines[container]; ok {
		return line, nil
	}
	node, err := o.Container(container)
	if err != nil {
		return nil, err
	}
	line, err := commandline.CommandLineOf(node)
	if err != nil {
		return nil, fmt.Errorf("%w: the command line of container %q: %w", ErrNested, container, err)
	}
	if o.commandLines == nil {
		o.commandLines = map[string]*commandline.CommandLine{}
	}
	o.commandLines[container] = line
	return line, nil
}

// ForgetCommandLines must be called after containers were edited in another way than through CommandLine. Command lines
// that were returned before must not be used afterwards.
func (o *Object) ForgetCommandLines() {
	for _, line := range o.commandLines {
		line.Release()
	}
	o.commandLines = nil
}

// Editor edits a text inside the object, such as a unit or a document in one of its fields. Flush writes the edited text
// into the object. Edits returns the number of edits.
type Editor interface {
	Edits() int
	Flush() error
}

// Editor returns the editor of a place. It is opened once until Flush, which writes its edits to the object. It fails if
// open does.
func (o *Object) Editor(place string, open func() (Editor, error)) (Editor, error) {
	if opened, ok := o.editors[place]; ok {
		return opened, nil
	}
	opened, err := open()
	if err != nil {
		return nil, err
	}
	if o.editors == nil {
		o.editors = map[string]Editor{}
	}
	o.editors[place] = opened
	return opened, nil
}

// The units and files of an OperatingSystemConfig that Gardener writes (gardener: pkg/apis/core/v1beta1/constants).
const (
	// KubeletUnit is the unit with the kubelet's command line.
	KubeletUnit = "kubelet.service"
	// KubeletConfigurationPath is the file with the KubeletConfiguration.
	KubeletConfigurationPath = "/var/lib/kubelet/config/kubelet"
	// KubeletPath is the path of the kubelet, a file by reference to an image with the version of Kubernetes as its
	// tag.
	KubeletPath = "/opt/bin/kubelet"
	// KernelSettingsPath is the file with kernel settings.
	KernelSettingsPath = "/etc/sysctl.d/99-k8s-general.conf"
)

// ErrNodePartMissing means that an OperatingSystemConfig lacks a unit or a file that the contract requires or a rule
// edits.
var ErrNodePartMissing = errors.New("unit or file missing")

// Flags is a command line, whether of a container or of a unit: the methods of commandline.CommandLine.
type Flags interface {
	Values(name string) []string
	Has(name string) bool
	Bare(name string) bool
	Names() []string
	Set(name string, values ...string) error
	SetBare(name string) error
	Remove(name string) error
}

// unitText edits a systemd unit.
type unitText struct {
	*systemd.Unit

	node    *document.Node
	command *systemd.Command
}

// Flush implements Editor.
func (u *unitText) Flush() error {
	if u.Edits() == 0 {
		return nil
	}
	return u.node.Replace(document.Quote(u.Text()))
}

// yamlText edits a file.
type yamlText struct {
	*yamledit.File

	content *document.Content
}

// Flush implements Editor.
func (y *yamlText) Flush() error {
	if y.Edits() == 0 {
		return nil
	}
	return y.content.SetText(y.Text())
}

// HasKubelet reports whether an OperatingSystemConfig has the kubelet's unit. One for provisioning may lack it.
func (o *Object) HasKubelet() bool {
	return o.Document.Root().Find("spec", "units").ItemWith("name", KubeletUnit) != nil
}

// Unit returns the content of a systemd unit. It is parsed once until Flush, which writes its edits to the object. It
// fails if the unit does not exist or cannot be parsed.
func (o *Object) Unit(name string) (*systemd.Unit, error) {
	read, err := o.readUnit(name)
	if err != nil {
		return nil, err
	}
	return read.Unit, nil
}

func (o *Object) readUnit(name string) (*unitText, error) {
	read, err := o.Editor("unit "+name, func() (Editor, error) {
		node := o.Document.Root().Find("spec", "units").ItemWith("name", name).Get("content")
		text, ok := node.Text()
		if !ok {
			return nil, fmt.Errorf("%w: there is no unit %s with a content", ErrNodePartMissing, name)
		}
		unit, err := systemd.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, name, err)
		}
		return &unitText{Unit: unit, node: node}, nil
	})
	if err != nil {
		return nil, err
	}
	return read.(*unitText), nil
}

// kubeletFlags returns the kubelet's command line: the only ExecStart in the section Service of its unit.
func (o *Object) kubeletFlags() (Flags, error) {
	read, err := o.readUnit(KubeletUnit)
	if err != nil {
		return nil, err
	}
	if read.command == nil {
		if read.command, err = read.Command("Service", "ExecStart"); err != nil {
			return nil, fmt.Errorf("%w: unit %s: %w", ErrNested, KubeletUnit, err)
		}
	}
	return read.command, nil
}

// File returns the file of an OperatingSystemConfig at a path, or nil.
func (o *Object) File(path string) *document.Node {
	return o.Document.Root().Find("spec", "files").ItemWith("path", path)
}

// Content returns the inline content of a file. It fails with ErrNodePartMissing if there is none, and with ErrNested
// if it cannot be decoded.
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

// KubeletConfiguration returns the kubelet's configuration file. It is parsed once until Flush, which writes its edits to
// the object. It fails as Content does, and with ErrNested for another kind.
func (o *Object) KubeletConfiguration() (*yamledit.File, error) {
	read, err := o.Editor("the kubelet's configuration", func() (Editor, error) {
		content, err := o.Content(KubeletConfigurationPath)
		if err != nil {
			return nil, err
		}
		yaml, err := yamledit.Parse(content.Text())
		if err != nil {
			return nil, fmt.Errorf("%w: file %s: %w", ErrNested, KubeletConfigurationPath, err)
		}
		if kind, _ := yaml.Get("kind"); kind != "KubeletConfiguration" {
			return nil, fmt.Errorf("%w: file %s is not a KubeletConfiguration", ErrNested, KubeletConfigurationPath)
		}
		return &yamlText{yaml, content}, nil
	})
	if err != nil {
		return nil, err
	}
	return read.(*yamlText).File, nil
}

// Edits returns the number of edits of the object so far, including those that are not flushed.
func (o *Object) Edits() int {
	edits := o.Document.Edits() + o.past
	for _, editor := range o.editors {
		edits += editor.Edits()
	}
	return edits
}

// Flush writes the units, files and documents that were edited back into the object, and drops their editors, which must
// not be used afterwards. It must be called before a place is read or written in another way than through its editor. It
// fails if the object cannot be edited at one of them.
func (o *Object) Flush() error {
	if len(o.editors) == 0 {
		return nil // without the cost of sorting
	}
	for _, place := range slices.Sorted(maps.Keys(o.editors)) {
		editor := o.editors[place]
		if err := editor.Flush(); err != nil {
			return fmt.Errorf("writing %s: %w", place, err)
		}
		o.past += editor.Edits()
	}
	clear(o.editors)
	return nil
}

// KubeletTexts holds the kubelet's two texts in an OperatingSystemConfig, as JSON: the content of its unit, and the
// inline content of its configuration file. Missing and unrequested texts are nil.
type KubeletTexts struct{ Unit, Configuration []byte }

// KubeletEdit is the result of editing the two texts, for objects with the same texts.
type KubeletEdit struct {
	// unit and data are the unit's content and the file's data as JSON; nil if the text stayed as it was.
	unit, data []byte
}

// Bytes returns the length of the texts.
func (e KubeletEdit) Bytes() int { return len(e.unit) + len(e.data) }

// KubeletTexts returns the texts of the object after Flush, the configuration only on request. It parses only the nodes
// that reading the texts would parse.
func (o *Object) KubeletTexts(configuration bool) KubeletTexts {
	texts := KubeletTexts{Unit: o.kubeletUnit().Raw()}
	if configuration {
		texts.Configuration = o.kubeletInline().Raw()
	}
	return texts
}

func (o *Object) kubeletUnit() *document.Node {
	return o.Document.Root().Find("spec", "units").ItemWith("name", KubeletUnit).Get("content")
}

func (o *Object) kubeletInline() *document.Node {
	return o.File(KubeletConfigurationPath).Find("content", "inline")
}

// KubeletEdit returns a copy of the edits made through CommandLine, Unit and KubeletConfiguration, and flushed, since
// the texts were taken. It returns false if the texts were changed in another way.
func (o *Object) KubeletEdit(since KubeletTexts) (KubeletEdit, bool) {
	var edit KubeletEdit
	unit := o.kubeletUnit()
	if unit.Kind() != document.String || since.Unit == nil {
		return edit, false
	}
	if !bytes.Equal(unit.Raw(), since.Unit) {
		edit.unit = bytes.Clone(unit.Raw())
	}
	inline := o.kubeletInline()
	if since.Configuration == nil || !inline.Edited() {
		return edit, true
	}
	data := inline.Get("data")
	edit.data = bytes.Clone(data.Raw())
	return edit, data.Kind() == document.String
}

// EditKubelet applies an edit to an object with the same original texts. It fails if the object cannot be edited there.
func (o *Object) EditKubelet(edit KubeletEdit) error {
	if edit.data != nil {
		if err := o.kubeletInline().Get("data").Replace(edit.data); err != nil {
			return fmt.Errorf("writing file %s: %w", KubeletConfigurationPath, err)
		}
	}
	if edit.unit == nil {
		return nil
	}
	if err := o.kubeletUnit().Replace(edit.unit); err != nil {
		return fmt.Errorf("writing unit %s: %w", KubeletUnit, err)
	}
	return nil
}

// ContentText returns the content of a unit, a drop-in or a file, or false if it is not inline.
func ContentText(content *document.Node) (string, bool) {
	if content.Kind() == document.String {
		return content.Text()
	}
	decoded, err := document.ContentOf(content.Get("inline"))
	if err != nil {
		return "", false
	}
	return string(decoded.Text()), true
}
