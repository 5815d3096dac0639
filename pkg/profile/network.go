// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Network is a NetworkProfile and where it comes from.
type Network struct {
	*v1alpha1.NetworkProfile
	// Node is the whole document as it was written.
	Node source.Node
	// Hash names the version of the document: see Document.
	Hash string
	// Findings are what is known to be wrong with the document.
	Findings source.Findings
}

// LoadNetworks reads all network profiles of the files; see Load.
func LoadNetworks(files ...source.File) ([]*Network, source.Findings) {
	parts, findings := Parse(files...)
	return DecodeNetworks(parts, findings)
}

// DecodeNetworks is Decode for network profiles. What pools, clouds and expressions mean is for pkg/network/policy.
func DecodeNetworks(parts []Part, known source.Findings) ([]*Network, source.Findings) {
	all, findings := decode(networkProfile, parts, known)
	documents := make([]*Network, len(all))
	for i, r := range all {
		documents[i] = &Network{NetworkProfile: r.content, Node: r.node, Hash: r.hash, Findings: r.findings}
	}
	return documents, findings
}

// networkProfile is how NetworkProfiles are read.
var networkProfile = kind[v1alpha1.NetworkProfile]{
	name:     v1alpha1.KindNetworkProfile,
	metadata: func(p *v1alpha1.NetworkProfile) v1alpha1.Metadata { return p.Metadata },
	validate: func(p *v1alpha1.NetworkProfile, n source.Node) source.Findings { return validateName(p.Metadata, n) },
}

// Summary is the document in one line, for logs: name and version.
func (n *Network) Summary() string { return n.Metadata.Name + "@" + n.Hash }
