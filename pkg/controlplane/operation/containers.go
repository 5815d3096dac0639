// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// containers adds, changes and removes containers of the pod template, such as sidecars.
func containers() Definition {
	return Definition{
		Name:      "containers",
		Summary:   "adds containers, or sets the named fields of a container that is there, and removes containers",
		Example:   "containers: {set: {backup-restore: {image: registry.example.com/etcdbrctl:v0.30.0, args: [server]}}}",
		Examples:  []string{"containers: {remove: [backup-restore]}"},
		Arguments: setAndRemove("containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return containersIn("containers", Container).compile(c, arguments, path)
		},
	}
}

// containersIn are the containers in a list of the pod template.
func containersIn(list string, kind Kind) namedObjects {
	return namedObjects{kind: kind, key: "name", shape: shapeOf[corev1.Container], checks: containerChecks, name: checkLabel,
		apply: func(o *target.Object, name string, v Resolved) error { return setContainer(o, list, name, v) }}
}

// namedObjects says how edits become writes whose values are objects that stand in a list under a name, which is their member key.
type namedObjects struct {
	kind   Kind
	key    string
	shape  func([]byte) ([]byte, error)
	checks []check
	// name judges a name; nil: every name will do.
	name  func(string) string
	apply func(*target.Object, string, Resolved) error
}

func (o namedObjects) compile(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return compiler{
		place: Place{Kind: o.kind},
		check: o.name,
		value: func(n source.Node, path string) (Value, source.Findings) {
			if n.Node == nil || n.Kind != yaml.MappingNode {
				return Value{}, source.Findings{n.Finding(path, "must be a mapping of fields").Of(source.WrongType)}
			}
			for _, field := range n.Fields() {
				if field.Key.Value == o.key {
					return Value{}, source.Findings{field.Key.Finding(path, "%s is what it stands under; leave it out here", o.key).Of(MisplacedField)}
				}
			}
			value, findings := c.Tree(n, path)
			if len(findings) == 0 {
				value, findings = value.shaped(o.shape, n, path)
			}
			if len(findings) == 0 {
				findings = hold(o.checks, n, path)
			}
			return value, findings
		},
		apply: func(name string) func(*target.Object, Resolved) error {
			return func(object *target.Object, v Resolved) error { return o.apply(object, name, v) }
		},
	}.compile(arguments, path, a.Set, a.Remove)
}

func setContainer(o *target.Object, list, name string, v Resolved) error {
	spec := o.PodSpec()
	if spec == nil {
		return nested(errNoPodTemplate, "spec.template.spec")
	}
	defer o.ForgetCommandLines()
	if v.Absent {
		removeNamed(spec, list, "name", name)
		return nil
	}
	return mergeNamed(spec, list, "name", name, withMember(v.JSON, "name", name))
}
