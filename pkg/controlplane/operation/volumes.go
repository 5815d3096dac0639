// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// volumes adds and removes volumes of the pod together with their mounts.
func volumes() Definition {
	return Definition{
		Name:     "volumes",
		Summary:  "adds volumes with their mounts, and removes volumes with all their mounts",
		Example:  "volumes: {set: {cloudprovider: {secret: {secretName: cloudprovider}, mount: {mountPath: /etc/cloud, readOnly: true}}}, remove: [etc-ssl]}",
		Examples: []string{"volumes: {set: {tmp: {emptyDir: {}, mount: {mountPath: /tmp, containers: [kube-apiserver]}}}}"},
		Arguments: setAndRemove("volumes", mappingOf(shapeLike[corev1.VolumeSource]().only(volumeSources, Argument{
			Name: "mount", Summary: "the mount of the volume, with the fields of a volumeMount except its name", Type: volumeMount(),
		}))),
		Parts:   target.PodTemplate,
		compile: compileVolumes,
	}
}

// volumeSources are the sources that a control plane's volume may have. hostPath is not among them, as a control plane
// must not depend on the machine of the seed on which it happens to run; neither are sources that Kubernetes has
// removed.
var volumeSources = []string{"secret", "configMap", "projected", "emptyDir", "downwardAPI", "persistentVolumeClaim", "csi", "ephemeral", "image"}

// mountFields are the fields of a mount that a profile may set, except its containers.
var mountFields = []string{"mountPath", "readOnly", "subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"}

// volumeMount returns the type of a mount with the containers that have it.
func volumeMount() Type {
	return shapeLike[corev1.VolumeMount]().only(mountFields, Argument{
		Name: "containers", Type: names, Summary: "the containers that mount it; by default the container required by the contract",
	})
}

func compileVolumes(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	set := arguments.Get("set")
	if !set.Absent() && set.Kind != yaml.MappingNode {
		return nil, source.Findings{set.Finding(path+".set", "must be a mapping of volume names to volumes").Of(source.WrongType)}
	}
	k := writeBuilder{
		place: Place{Kind: Volume},
		apply: func(o *target.Object, name string, _ Resolved) error { return removeVolume(o, name) },
	}
	k.addNames(arguments.Get("remove").Items(), path+".remove", Remove())
	for _, field := range set.Fields() {
		more, problems := compileVolume(c, field, path+".set."+field.Key.Value)
		k.writes, k.findings = append(k.writes, more...), append(k.findings, problems...)
	}
	return k.result(arguments, path, "nothing to set and nothing to remove")
}

// compileVolume splits the entry of a volume into the volume itself and its mounts.
func compileVolume(c *Context, field source.Field, path string) ([]Write, source.Findings) {
	name := field.Key.Value
	if problem := cmp.Or(checkName(name), checkLabel(name)); problem != "" {
		return nil, source.Findings{field.Key.Finding(path, "%s", problem).Of(source.InvalidName)}
	}
	var mount source.Node
	volume := &yaml.Node{Kind: yaml.MappingNode, Line: field.Value.Line, Column: field.Value.Column}
	sources := 0
	for _, member := range field.Value.Fields() {
		if member.Key.Value == "mount" {
			mount = member.Value
			continue
		}
		if !slices.Contains(volumeSources, member.Key.Value) {
			known := slices.Concat(volumeSources, []string{"mount"})
			return nil, source.Findings{member.Key.Finding(path, "unknown source of a volume %q%s", member.Key.Value,
				source.Suggest(member.Key.Value, known)).Of(source.UnknownField).Instead(member.Key, known)}
		}
		sources++
		volume.Content = append(volume.Content, member.Key.Node, member.Value.Node)
	}
	if sources > 1 || (sources == 0 && mount.Node == nil) {
		return nil, source.Findings{field.Value.Finding(path, "exactly one source of the volume is needed, such as secret or configMap").Of(source.ExclusiveFields)}
	}
	writes, findings := compileMounts(c, name, mount, path+".mount")
	if sources == 1 {
		value, problems := typed[corev1.VolumeSource](c, source.Node{Node: volume, File: field.Value.File}, path, volumeChecks)
		writes = append(writes, Write{Place: Place{Kind: Volume, Name: name}, Value: value, At: field.Value, Path: path,
			Apply: func(o *target.Object, v Resolved) error { return setVolume(o, name, v.JSON) }})
		findings = append(findings, problems...)
	}
	return writes, findings
}

func compileMounts(c *Context, volume string, mount source.Node, path string) ([]Write, source.Findings) {
	if mount.Node == nil {
		return nil, nil
	}
	var (
		containers []string
		findings   source.Findings
		writes     []Write
	)
	if listed := mount.Get("containers"); listed.Node != nil {
		findings = source.Decode(listed, path+".containers", &containers)
	}
	if slices.Contains(containers, "") {
		findings = append(findings, mount.Finding(path+".containers", "must be a list of names").Of(source.WrongType))
	}
	if len(containers) == 0 {
		containers = []string{c.Target.Container}
	}
	value, problems := compileMountValue(c, mount, path, slices.Concat(mountFields, []string{"containers"}))
	for _, container := range containers {
		writes = append(writes, Write{Place: Place{VolumeMount, container, volume}, Value: value, At: mount, Path: path,
			Apply: func(o *target.Object, v Resolved) error { return setMount(o, container, volume, v.JSON) }})
	}
	return writes, append(findings, problems...)
}

// compileMountValue compiles a mount without its volume; known lists the allowed fields, except containers.
func compileMountValue(c *Context, mount source.Node, path string, known []string) (Value, source.Findings) {
	findings := checkFields(mount, path, known)
	rest := &yaml.Node{Kind: yaml.MappingNode, Line: mount.Line, Column: mount.Column}
	for _, field := range mount.Fields() {
		if field.Key.Value != "containers" {
			rest.Content = append(rest.Content, field.Key.Node, field.Value.Node)
		}
	}
	if mount.Get("mountPath").Absent() {
		findings = append(findings, mount.Finding(path+".mountPath", "is missing").Of(source.MissingField))
	}
	if len(findings) > 0 {
		return Value{}, findings
	}
	return typed[corev1.VolumeMount](c, source.Node{Node: rest, File: mount.File}, path, mountChecks)
}

// setVolume writes a volume, and removes its other sources.
func setVolume(o *target.Object, name string, raw []byte) error {
	root, at := o.Document.Root(), pathOf("spec", "template", "spec", "volumes").item("name", name)
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	if present := at.find(root); present != nil {
		for _, key := range volumeSources {
			if wanted.Root().Get(key) == nil {
				present.Remove(key)
			}
		}
	}
	return at.mergeNode(root, wanted.Root())
}

func setMount(o *target.Object, container, volume string, raw []byte) error {
	node, err := o.Container(container)
	if err != nil {
		return err
	}
	return nested(pathOf("volumeMounts").item("name", volume).merge(node, raw), "container %q", container)
}

// removeVolume removes a volume and its mounts in all containers.
func removeVolume(o *target.Object, name string) error {
	spec := o.PodSpec()
	pathOf("volumes").item("name", name).remove(spec)
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range spec.Get(list).Items() {
			pathOf("volumeMounts").item("name", name).remove(container)
		}
	}
	return nil
}
