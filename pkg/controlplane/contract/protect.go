// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// ErrBroken means that a mutation changed a protected part.
var ErrBroken = errors.New("contract broken")

// dataPath is where the contract has the claim mounted into the etcd container.
const dataPath = "/var/etcd/data"

// Exemption reports whether a rule gives a reason for writing a flag of the target's own container. With an empty flag,
// it reports this for adding environment variables, Secrets or ConfigMaps; with KubeletVariables, for parts of the node
// that set variables of the kubelet's command line.
type Exemption func(flag string) bool

// Protect compares the protected parts of an object's document with their state before the edits. It considers only the
// result, so that no operation can bypass it. The error names the clause.
func Protect(o *target.Object, g Generation, exempt Exemption) error {
	before, after := o.Document.Original(), o.Document.Root()
	if clause, locked := ServiceLocked(o, g); locked {
		return broken(clause, "a Service that is Gardener's")
	}
	if err := protectIdentity(o.Document); err != nil {
		return err
	}
	if o.Form.Kind == "OperatingSystemConfig" {
		return protectNode(o, exempt)
	}
	if !o.Form.Has(target.PodTemplate) {
		return nil
	}
	was, is := mainContainer(o.Target, before), mainContainer(o.Target, after)
	if was == nil {
		return nil
	}
	if is == nil {
		return broken(container, "container %q is missing", o.Target.Container)
	}
	if err := protectFlags(o, g, was, is, exempt); err != nil {
		return err
	}
	if _, ok := ForbiddenInput(o.Target); ok && !exempt("") {
		if err := protectInputs(before, after, was, is); err != nil {
			return err
		}
	}
	if o.Target.Component == "etcd" {
		return protectData(o.Form.Name, before, after, was, is)
	}
	return nil
}

func broken(clause Clause, format string, arguments ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrBroken, fmt.Sprintf(format, arguments...), clause)
}

// protectIdentity compares the fields that identify an object for kube-apiserver and Gardener.
func protectIdentity(d *document.Document) error {
	for _, path := range [][]string{
		{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"},
		{"metadata", "ownerReferences"}, {"spec", "selector"}, {"spec", "purpose"}, {"spec", "type"},
	} {
		if !kept(d, path...) {
			return broken(identity, "%s changed", strings.Join(path, "."))
		}
	}
	for key := range d.Root().Find("spec", "selector", "matchLabels").Members() {
		if !kept(d, "spec", "template", "metadata", "labels", key) {
			return broken(identity, "the pod label %s, which the selector uses, changed", key)
		}
	}
	for _, key := range keptLabels {
		if !kept(d, "spec", "template", "metadata", "labels", key) || !kept(d, "metadata", "labels", key) {
			return broken(identity, "the label %s changed", key)
		}
	}
	return nil
}

// kept reports whether the value at a path of keys equals the original one.
func kept(d *document.Document, path ...string) bool {
	return d.Original().Find(path...).Equal(d.Root().Find(path...))
}

// protectFlags compares the flags of the component's own container that are reserved or locked.
func protectFlags(o *target.Object, g Generation, was, is *document.Node, exempt Exemption) error {
	t := o.Target
	locked := t.Component == "kube-apiserver" && (g == Today || managed(o.Document.Original()))
	changed, err := changedFlags(was, is)
	if err != nil {
		return fmt.Errorf("%w: the command line of container %q: %w", target.ErrNested, t.Container, err)
	}
	return checkFlags(t, changed, locked, exempt)
}

// changedFlags returns the names of the flags of the component's own container that have other values than before.
func changedFlags(was, is *document.Node) ([]string, error) {
	before, err := commandline.CommandLineOf(was)
	if err != nil {
		return nil, err
	}
	defer before.Release()
	after, err := commandline.CommandLineOf(is)
	if err != nil {
		return nil, err
	}
	defer after.Release()
	return before.Differences(&after.FlagList), nil
}

// checkFlags finds a reserved or locked flag among those that have other values than before.
func checkFlags(t *target.Target, changed []string, locked bool, exempt Exemption) error {
	for _, name := range changed {
		if locked && slices.Contains(LockedFlags, name) {
			return broken(sniFlags, "--%s changed", name)
		}
		clause, reserved := ReservedFlag(t, name)
		if reserved && !strings.HasSuffix(name, "able-admission-plugins") && !exempt(name) {
			return broken(clause, "--%s changed", name)
		}
	}
	return nil
}

// protectInputs compares the environment, Secrets and ConfigMaps of a container that must not get any.
func protectInputs(before, after, was, is *document.Node) error {
	if !equalBytes(was.Get("env"), is.Get("env")) || !equalBytes(was.Get("envFrom"), is.Get("envFrom")) {
		return broken(senseless, "the environment of the container changed")
	}
	if !slices.Equal(secretMounts(before, was), secretMounts(after, is)) {
		return broken(senseless, "a Secret or ConfigMap is mounted or no longer mounted")
	}
	return nil
}

// secretMounts returns the mounts of a container with volumes from a Secret or a ConfigMap, as JSON.
func secretMounts(root, container *document.Node) []string {
	var mounts []string
	for _, mount := range container.Get("volumeMounts").Items() {
		name, _ := mount.Get("name").Text()
		volume := root.Find("spec", "template", "spec", "volumes").ItemWith("name", name)
		for _, source := range []string{"secret", "configMap", "projected"} {
			if volume.Get(source) != nil {
				mounts = append(mounts, string(mount.Raw())+string(volume.Get(source).Raw()))
			}
		}
	}
	return mounts
}

// protectData compares the name of the claim template and the mounts of the etcd's data.
func protectData(name string, before, after, was, is *document.Node) error {
	if claimTemplate(before, name) != nil && claimTemplate(after, name) == nil {
		return broken(etcdData, "the claim template %q is missing", name)
	}
	if !slices.Equal(dataMounts(was), dataMounts(is)) {
		return broken(etcdData, "the mount at %s changed", dataPath)
	}
	return nil
}

// dataMounts returns the mounts at, above and below the path of the etcd's data, as JSON.
func dataMounts(container *document.Node) []string {
	var mounts []string
	for _, mount := range container.Get("volumeMounts").Items() {
		path, _ := mount.Get("mountPath").Text()
		path = strings.TrimSuffix(path, "/") + "/"
		if data := dataPath + "/"; strings.HasPrefix(path, data) || strings.HasPrefix(data, path) {
			mounts = append(mounts, string(mount.Raw()))
		}
	}
	return mounts
}

func claimTemplate(root *document.Node, name string) *document.Node {
	for _, template := range root.Find("spec", "volumeClaimTemplates").Items() {
		if text, _ := template.Find("metadata", "name").Text(); text == name {
			return template
		}
	}
	return nil
}

// managed reports whether the object is labelled as part of Gardener's SNI.
func managed(root *document.Node) bool {
	label, _ := root.Find("metadata", "labels", LabelExposure).Text()
	return label == ExposureManaged
}

func mainContainer(t *target.Target, root *document.Node) *document.Node {
	return root.Find("spec", "template", "spec", "containers").ItemWith("name", t.Container)
}

// equalBytes compares the raw text of two values, which suffices for values that must not be edited.
func equalBytes(a, b *document.Node) bool { return bytes.Equal(a.Raw(), b.Raw()) }
