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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// ErrContainerMissing means that the pod template has no container of the name that the contract requires or a rule names.
var ErrContainerMissing = errors.New("container missing")

// ErrNested means that something inside the object, such as a command line or the value of a flag, cannot be read.
var ErrNested = errors.New("nested document unreadable")

// Object is a document as an object of the contract.
type Object struct {
	Target *Target
	Form   *Form
	// Document is the object, with the edits made so far.
	Document *document.Document
	// Old is the object as it stands in the cluster; nil when it is being created.
	Old *document.Document

	commandLines map[string]*document.CommandLine
	texts        texts
	lenses       map[string]Lens
}

// PodTemplate is spec.template, nil where there is none.
func (o *Object) PodTemplate() *document.Node { return o.Document.Root().Find("spec", "template") }

// PodSpec is spec.template.spec, nil where there is none.
func (o *Object) PodSpec() *document.Node { return o.PodTemplate().Get("spec") }

// BeingDeleted says whether the object has a deletion timestamp. Such objects are left alone.
func (o *Object) BeingDeleted() bool {
	return o.Document.Root().Find("metadata", "deletionTimestamp").Kind() == document.String
}

// Purpose is the purpose of an OperatingSystemConfig; empty for other objects.
func (o *Object) Purpose() string {
	if o.Form.Kind != "OperatingSystemConfig" {
		return ""
	}
	stands := o.Document.Original().Find("spec", "purpose")
	for _, known := range [...]string{"reconcile", "provision"} { // without a copy
		if stands.Is(known) {
			return known
		}
	}
	purpose, _ := stands.Text()
	return purpose
}

// OwnContainer is the container that the contract requires. An init container of the name is none.
func (o *Object) OwnContainer() (*document.Node, error) {
	if container := o.PodSpec().Get("containers").ItemWith("name", o.Target.Container); container != nil {
		return container, nil
	}
	return nil, o.missing(o.Target.Container)
}

// ImageVersion is the version of Kubernetes that the object runs, by the tag of its own container's image, or of the image
// that an OperatingSystemConfig takes the kubelet from; without the leading v, and empty where that does not say it.
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

// Container finds a container of the pod template, or an init container, by its name.
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

// CommandLine is the command line of a container, or of the kubelet in an OperatingSystemConfig; it is read once and follows
// the edits made through it.
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
	line, err := document.CommandLineOf(node)
	if err != nil {
		return nil, fmt.Errorf("%w: the command line of container %q: %w", ErrNested, container, err)
	}
	if o.commandLines == nil {
		o.commandLines = map[string]*document.CommandLine{}
	}
	o.commandLines[container] = line
	return line, nil
}

// ChangedFlags are the names of the flags that differ between a container in the original and in the document as it is now; false
// unless edits through CommandLine have made the one of the other.
func (o *Object) ChangedFlags(name string, was, is *document.Node) ([]string, bool) {
	if line, ok := o.commandLines[name]; ok {
		return line.Changed(was, is)
	}
	return nil, false
}

// ForgetCommandLines must be called after containers were edited in another way than through CommandLine.
func (o *Object) ForgetCommandLines() { o.commandLines = nil }

// Lens is a view of something inside the object, such as a document in one of its fields. Flush writes its edits back.
type Lens interface{ Flush() error }

// Lens gives the view of a place, which is opened once in a rule; edits through it are in the object after Flush.
func (o *Object) Lens(place string, open func() (Lens, error)) (Lens, error) {
	if opened, ok := o.lenses[place]; ok {
		return opened, nil
	}
	opened, err := open()
	if err != nil {
		return nil, err
	}
	if o.lenses == nil {
		o.lenses = map[string]Lens{}
	}
	o.lenses[place] = opened
	return opened, nil
}

// flushLenses writes back what was edited, and forgets the views, as another rule may edit their places in another way.
func (o *Object) flushLenses() error {
	if len(o.lenses) == 0 {
		return nil
	}
	for _, place := range slices.Sorted(maps.Keys(o.lenses)) {
		if err := o.lenses[place].Flush(); err != nil {
			return fmt.Errorf("writing %s: %w", place, err)
		}
	}
	clear(o.lenses)
	return nil
}

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

// KubeletTexts are the two texts of the kubelet as they stand in an OperatingSystemConfig, as JSON: the content of its unit, and the inline content
// of its configuration file. What is not there, or was not asked for, is nil.
type KubeletTexts struct{ Unit, Configuration []byte }

// KubeletEdit is what edits made of the two texts, for an object that has the same.
type KubeletEdit struct {
	// unit and data are the strings of the unit's content and of the file's data; without one, the text stayed as it was.
	unit, data document.Literal
}

// Bytes is how long the texts are.
func (e KubeletEdit) Bytes() int { return len(e.unit.Raw()) + len(e.data.Raw()) }

// KubeletTexts are the texts as they stand in the object after Flush, the configuration only if it is asked for. No node is opened that reading the
// texts would not open, too.
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

// KubeletEdit is what was made of the texts through CommandLine, Unit and KubeletConfiguration since they were taken, and was flushed, as a copy; false
// where that cannot be told.
func (o *Object) KubeletEdit(since KubeletTexts) (KubeletEdit, bool) {
	var edit KubeletEdit
	if now, ok := o.kubeletUnit().Literal(); !ok || since.Unit == nil {
		return edit, false
	} else if !bytes.Equal(now.Raw(), since.Unit) {
		edit.unit = now.Clone()
	}
	if since.Configuration == nil {
		return edit, true
	}
	inline := o.kubeletInline()
	if bytes.Equal(inline.Raw(), since.Configuration) {
		return edit, true
	}
	data, ok := inline.Get("data").Literal()
	edit.data = data.Clone()
	return edit, ok
}

// EditKubelet makes an edit of an object that has the texts of which it was made.
func (o *Object) EditKubelet(edit KubeletEdit) error {
	if edit.data.Raw() != nil {
		if err := o.kubeletInline().Get("data").ReplaceLiteral(edit.data); err != nil {
			return fmt.Errorf("writing file %s: %w", KubeletConfigurationPath, err)
		}
	}
	if edit.unit.Raw() == nil {
		return nil
	}
	if err := o.kubeletUnit().ReplaceLiteral(edit.unit); err != nil {
		return fmt.Errorf("writing unit %s: %w", KubeletUnit, err)
	}
	return nil
}
