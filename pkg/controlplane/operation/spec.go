// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// compileSpecField compiles edits of the members of an object below spec.
func compileSpecField(c *Context, arguments source.Node, path string, kind Kind, member string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return compiler{
		place: Place{Kind: kind},
		value: c.Tree,
		apply: func(name string) func(*target.Object, Resolved) error {
			return func(o *target.Object, v Resolved) error { return setSpecField(o, member, name, v) }
		},
	}.compile(arguments, path, a.Set, a.Remove)
}

func setSpecField(o *target.Object, member, name string, v Resolved) error {
	spec := o.Document.Root().Get("spec")
	if v.Absent {
		spec.Get(member).Remove(name)
		return nil
	}
	parent, err := spec.Ensure(member, document.Object)
	if err != nil {
		return nested(err, "spec.%s", member)
	}
	return mergeMember(parent, name, v.JSON)
}
