// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// documentKind describes how documents of one kind are read.
type documentKind[T any] struct {
	name     string
	metadata func(*T) v1alpha1.Metadata
	// validate checks a decoded document.
	validate func(*T, source.Node) source.Findings
}

// read is a decoded document.
type read[T any] struct {
	content *T
	node    source.Node
	hash    string
	file    source.File
	// findings are the errors in the document.
	findings source.Findings
}

// decode reads the documents of a kind. It returns known and its own findings, without consequences of other
// findings.
func decode[T any](k documentKind[T], parts []Part, known source.Findings) ([]read[T], source.Findings) {
	var (
		all      []read[T]
		findings = slices.Clone(known)
		named    = map[string]source.Position{}
	)
	for i, part := range parts {
		own := findingsIn(parts, i, known)
		content, problems := k.decode(part.Node)
		problems = problems.Beyond(own)
		findings = append(findings, problems...)
		if content == nil {
			continue
		}
		name := k.metadata(content).Name
		if earlier, ok := named[name]; ok && name != "" {
			findings = append(findings, part.Node.Finding("metadata.name", "the profile %q is already defined at %s", name, earlier).Of(source.DuplicateName))
			continue
		}
		named[name] = part.Node.Position()
		all = append(all, read[T]{content, part.Node, hash(part.File), part.File, slices.Concat(own, problems)})
	}
	findings.Sort()
	return all, findings
}

// decode reads one document. It returns nil for a document of another kind.
func (k documentKind[T]) decode(node source.Node) (*T, source.Findings) {
	apiVersion, name := node.Get("apiVersion"), node.Get("kind")
	findings := CheckHead(node, k.name)
	if !k.isIntended(apiVersion, name) {
		return nil, findings
	}
	content := new(T)
	problems := source.Decode(node, "", content)
	findings = append(findings, problems.Beyond(findings)...)
	return content, append(findings, k.validate(content, node).Beyond(findings)...)
}

// isIntended reports whether a document is intended to be of the kind, even if its head has a mistake.
func (k documentKind[T]) isIntended(apiVersion, name source.Node) bool {
	if name.Node == nil {
		return apiVersion.Node != nil && apiVersion.Value == v1alpha1.GroupVersion.String()
	}
	return name.Value == k.name || source.Suggest(name.Value, []string{k.name}) != ""
}

// CheckHead returns findings if a document has another apiVersion or kind, or none.
func CheckHead(document source.Node, kind string) source.Findings {
	var findings source.Findings
	for _, head := range []struct{ name, want string }{{"apiVersion", v1alpha1.GroupVersion.String()}, {"kind", kind}} {
		switch written, known := document.Get(head.name), []string{head.want}; {
		case written.Node == nil:
			findings = append(findings, document.Finding(head.name, "is missing: must be %s", head.want).Of(source.UnknownKind))
		case written.Value != head.want:
			findings = append(findings, written.Finding(head.name, "unknown %s %q%s: must be %s", head.name, written.Value,
				source.Suggest(written.Value, known), head.want).Of(source.UnknownKind).Instead(written, known))
		}
	}
	return findings
}
