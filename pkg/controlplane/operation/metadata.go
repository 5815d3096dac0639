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

// compileKeyed compiles edits of a map of strings at a path, such as labels; where finds the object that has the map as
// a member.
func compileKeyed(c *Context, arguments source.Node, path string, kind Kind, at fieldPath,
	where func(*target.Object) (*document.Node, error),
) ([]Write, source.Findings) {
	member := at[len(at)-1].Key
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return compiler{
		place: Place{Kind: kind},
		value: func(n source.Node, path string) (Value, source.Findings) {
			value, findings := c.Text(n, path)
			if constant, ok := value.Constant(); ok && member == "labels" && len(findings) == 0 {
				for _, problem := range validation.IsValidLabelValue(constant.Text()) {
					findings = append(findings, n.Finding(path, "%s", problem).Of(source.WrongValue))
				}
			}
			return value, findings
		},
		check: checkKey,
		apply: func(key string) func(*target.Object, Resolved) error {
			return func(o *target.Object, v Resolved) error {
				parent, err := where(o)
				if err != nil {
					return err
				}
				return setKey(parent, member, key, v)
			}
		},
		keep: func(key string) func(*target.Object) error { return at.with(key).keep },
	}.compile(arguments, path, a.Set, a.Remove)
}

// checkKey judges the key of a label or an annotation.
func checkKey(key string) string {
	return strings.Join(validation.IsQualifiedName(strings.ToLower(key)), "; ")
}

// setKey sets or removes an entry of a map of strings; a map that is left empty stays, as the API server drops it anyway.
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
