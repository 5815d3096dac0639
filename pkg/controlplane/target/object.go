// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
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
	notes        map[any]int
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
