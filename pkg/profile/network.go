// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Network is a loaded NetworkProfile.
type Network struct {
	*v1alpha1.NetworkProfile
	// Node is the whole document as written.
	Node source.Node
	// Hash identifies the version of the document: see Document.
	Hash string
	// Findings are the errors in the document.
	Findings source.Findings
}

// LoadNetworks reads all network profiles in the files; see Load.
func LoadNetworks(files ...source.File) ([]*Network, source.Findings) {
	parts, findings := Parse(files...)
	return DecodeNetworks(parts, findings)
}

// DecodeNetworks works like Decode for network profiles. Package pkg/network/policy checks pools, clouds and
// expressions.
func DecodeNetworks(parts []Part, known source.Findings) ([]*Network, source.Findings) {
	all, findings := decode(networkProfile, parts, known)
	documents := make([]*Network, len(all))
	for i, r := range all {
		documents[i] = &Network{NetworkProfile: r.content, Node: r.node, Hash: r.hash, Findings: r.findings}
	}
	return documents, findings
}

// networkProfile describes how NetworkProfiles are read.
var networkProfile = documentKind[v1alpha1.NetworkProfile]{
	name:     v1alpha1.KindNetworkProfile,
	metadata: func(p *v1alpha1.NetworkProfile) v1alpha1.Metadata { return p.Metadata },
	validate: func(p *v1alpha1.NetworkProfile, n source.Node) source.Findings { return validateName(p.Metadata, n) },
}

// Summary returns name and version in one line, for logs.
func (n *Network) Summary() string { return n.Metadata.Name + "@" + n.Hash }
