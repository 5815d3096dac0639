// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// mapEntries returns the definition of an operation for the entries of a map of strings, such as labels.
func mapEntries(name, owner string, parts target.Part, kind PlaceKind, path fieldPath, example string, examples ...string) Definition {
	entry, value := path[len(path)-1].Key, (*Context).Text
	if entry == "labels" {
		value = labelValue
	}
	return Definition{
		Name: name, Summary: "sets and removes " + entry + " of " + owner, Example: example, Examples: examples,
		Arguments: setAndRemove(entry, mappingOf(anyText)), Parts: parts,
		compile: func(c *Context, arguments source.Node, at string) ([]Write, source.Findings) {
			return writeBuilder{
				place: Place{Kind: kind}, value: c.with(value), check: checkKey, path: path.with,
				keep: func(name string) func(*target.Object) error { return path.with(name).keep },
			}.compileEdits(arguments, at)
		},
	}
}

// labels sets and removes labels of the object itself.
func labels() Definition {
	return mapEntries("labels", "the object itself", target.Metadata, Label, pathOf("metadata", "labels"),
		"labels: {set: {cloud.example.com/zone: a}, remove: [old]}")
}

// annotations sets and removes annotations of the object itself.
func annotations() Definition {
	return mapEntries("annotations", "the object itself", target.Metadata, Annotation, pathOf("metadata", "annotations"),
		`annotations: {set: {loadbalancer.openstack.org/keep-floatingip: "true"}}`,
		"annotations: {remove: [old]}")
}

// podLabels sets and removes labels of the pod template.
func podLabels() Definition {
	return mapEntries("podLabels", "the pod template", target.PodTemplate, PodLabel, pathOf("spec", "template", "metadata", "labels"),
		"podLabels: {remove: [networking.gardener.cloud/to-public-networks]}",
		"podLabels: {set: {zone: \"${ shoot.region }\"}}")
}

// podAnnotations sets and removes annotations of the pod template.
func podAnnotations() Definition {
	return mapEntries("podAnnotations", "the pod template", target.PodTemplate, PodAnnotation, pathOf("spec", "template", "metadata", "annotations"),
		"podAnnotations: {remove: [checksum/secret-cloudprovider]}",
		"podAnnotations: {set: {zone: \"${ shoot.region }\"}}")
}

// labelValue compiles the value of a label. Kubernetes restricts its characters.
func labelValue(c *Context, n source.Node, path string) (Value, source.Findings) {
	value, findings := c.Text(n, path)
	if constant, ok := value.Constant(); ok && len(findings) == 0 {
		for _, problem := range validation.IsValidLabelValue(constant.Text()) {
			findings = append(findings, n.Finding(path, "%s", problem).Of(source.WrongValue))
		}
	}
	return value, findings
}

// checkKey returns the problem of the key of a label or an annotation.
func checkKey(key string) string {
	return strings.Join(validation.IsQualifiedName(strings.ToLower(key)), "; ")
}

// containers adds, changes and removes containers of the pod template, such as sidecars.
func containers() Definition {
	return Definition{
		Name:      "containers",
		Summary:   "adds containers, sets fields of existing ones, and removes containers",
		Example:   "containers: {set: {backup-restore: {image: registry.example.com/etcdbrctl:v0.30.0, args: [server]}}}",
		Examples:  []string{"containers: {remove: [backup-restore]}"},
		Arguments: setAndRemove("containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		compile:   compileContainers,
	}
}

func compileContainers(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return writeBuilder{
		place: Place{Kind: Container}, value: c.with(compileContainer), check: checkLabel, apply: writeContainer, path: containerPath,
	}.compileEdits(arguments, path)
}

// containerPath returns the path of a container in the object.
func containerPath(name string) fieldPath {
	return pathOf("spec", "template", "spec", "containers").item("name", name)
}

func writeContainer(o *target.Object, name string, v Resolved) error {
	defer o.ForgetCommandLines()
	return containerPath(name).write(o.Document.Root(), v)
}

// compileContainer compiles a container without its name, which identifies it.
func compileContainer(c *Context, n source.Node, path string) (Value, source.Findings) {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return Value{}, source.Findings{n.Finding(path, "must be a mapping of fields").Of(source.WrongType)}
	}
	for _, field := range n.Fields() {
		if field.Key.Value == "name" {
			return Value{}, source.Findings{field.Key.Finding(path, "name is the key of this mapping; remove it here").Of(MisplacedField)}
		}
	}
	return typed[corev1.Container](c, n, path, containerChecks)
}
