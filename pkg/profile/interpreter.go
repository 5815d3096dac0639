// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Interpreter is a loaded InterpreterProfile.
type Interpreter struct {
	*v1alpha1.InterpreterProfile
	// Node is the whole document as written.
	Node source.Node
	// Hash identifies the version of the document: see Document.
	Hash string
	// Findings are the errors in the document.
	Findings source.Findings
}

// LoadInterpreters reads all interpreter profiles in the files; see Load.
func LoadInterpreters(files ...source.File) ([]*Interpreter, source.Findings) {
	parts, findings := Parse(files...)
	return DecodeInterpreters(parts, findings)
}

// DecodeInterpreters works like Decode for interpreter profiles. Package pkg/interpreter/rule checks rules and
// expressions.
func DecodeInterpreters(parts []Part, known source.Findings) ([]*Interpreter, source.Findings) {
	all, findings := decode(interpreterProfile, parts, known)
	documents := make([]*Interpreter, len(all))
	for i, r := range all {
		documents[i] = &Interpreter{InterpreterProfile: r.content, Node: r.node, Hash: r.hash, Findings: r.findings}
	}
	return documents, findings
}

// interpreterProfile describes how InterpreterProfiles are read.
var interpreterProfile = documentKind[v1alpha1.InterpreterProfile]{
	name:     v1alpha1.KindInterpreterProfile,
	metadata: func(p *v1alpha1.InterpreterProfile) v1alpha1.Metadata { return p.Metadata },
	validate: func(p *v1alpha1.InterpreterProfile, n source.Node) source.Findings {
		return validateName(p.Metadata, n)
	},
}

// Summary returns name and version in one line, for logs.
func (i *Interpreter) Summary() string { return i.Metadata.Name + "@" + i.Hash }
