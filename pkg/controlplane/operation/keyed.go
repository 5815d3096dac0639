// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// compileKeyed compiles edits of a map of strings, such as labels; where finds the object that has the map as a member.
func compileKeyed(c *Context, arguments source.Node, path string, kind Kind, member string,
	where func(*target.Object) (*document.Node, error),
) ([]Write, source.Findings) {
	var a edits
	if findings := source.Decode(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return compiler{
		place: Place{Kind: kind},
		value: c.Text,
		apply: func(key string) func(*target.Object, Resolved) error {
			return func(o *target.Object, v Resolved) error {
				parent, err := where(o)
				if err != nil {
					return err
				}
				return setKey(parent, member, key, v)
			}
		},
	}.compile(arguments, path, a.Set, a.Remove)
}

// setKey sets or removes an entry of a map of strings; a map that is left empty stays, as the API server drops it anyway.
func setKey(parent *document.Node, member, key string, v Resolved) error {
	if v.Absent {
		if entries := parent.Get(member); entries.Get(key) != nil {
			entries.Remove(key)
		}
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
