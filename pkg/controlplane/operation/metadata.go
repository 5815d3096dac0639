// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// keyed is a map of strings at a path, such as labels. The function where finds the object that has it as a member.
type keyed struct {
	kind  Kind
	at    fieldPath
	parts target.Part
	where func(*target.Object) (*document.Node, error)
}

// define returns an operation that edits the map, which belongs to the named part of an object.
func (k keyed) define(name, owner, example string, examples ...string) Definition {
	member := k.at[len(k.at)-1].Key
	return Definition{
		Name:      name,
		Summary:   "sets and removes " + member + " of " + owner,
		Example:   example,
		Examples:  examples,
		Arguments: setAndRemove(member, mappingOf(anyText)),
		Parts:     k.parts,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			return compiler{
				place: Place{Kind: k.kind},
				value: c.with(k.value),
				check: checkKey,
				apply: k.apply,
				keep:  func(key string) func(*target.Object) error { return k.at.with(key).keep },
			}.compileEdits(arguments, path)
		},
	}
}

// value compiles the value of a key, and checks it for a label.
func (k keyed) value(c *Context, n source.Node, path string) (Value, source.Findings) {
	value, findings := c.Text(n, path)
	if constant, ok := value.Constant(); ok && (k.kind == Label || k.kind == PodLabel) && len(findings) == 0 {
		for _, problem := range validation.IsValidLabelValue(constant.Text()) {
			findings = append(findings, n.Finding(path, "%s", problem).Of(source.WrongValue))
		}
	}
	return value, findings
}

func (k keyed) apply(o *target.Object, key string, v Resolved) error {
	parent, err := k.where(o)
	if err != nil {
		return err
	}
	return setKey(parent, k.at[len(k.at)-1].Key, key, v)
}

// checkKey judges the key of a label or an annotation.
func checkKey(key string) string {
	return strings.Join(validation.IsQualifiedName(strings.ToLower(key)), "; ")
}

// setKey sets or removes an entry of a map of strings. It keeps an empty map, because the API server drops it.
func setKey(parent *document.Node, member, key string, v Resolved) error {
	if v.Absent {
		parent.Get(member).Remove(key)
		return nil
	}
	entries, err := parent.Ensure(member, document.Object)
	if err != nil {
		return nested(err, "%s", member)
	}
	_, err = entries.Set(key, document.Quote(v.Text()))
	return err
}

func objectMetadata(o *target.Object) (*document.Node, error) {
	metadata, err := o.Document.Root().Ensure("metadata", document.Object)
	return metadata, nested(err, "metadata")
}

func podMetadata(o *target.Object) (*document.Node, error) {
	template := o.PodTemplate()
	if template == nil {
		return nil, nested(errNoPodTemplate, "spec.template")
	}
	metadata, err := template.Ensure("metadata", document.Object)
	return metadata, nested(err, "spec.template.metadata")
}
