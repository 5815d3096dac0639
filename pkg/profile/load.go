// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profile turns the bytes of files and ConfigMaps into documents: strictly decoded, validated as far as that needs
// no knowledge of any cloud or caller, with the place of every error. What a rule means is the wings' business; this package
// must not import them. Enter at Load and LoadNetworks.
package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Document is a valid ProviderProfile and where it comes from.
type Document struct {
	*v1alpha1.ProviderProfile
	// Node is the whole document as it was written.
	Node source.Node
	// Hash is the SHA-256 of the file and what is attached to it, the first 12 hexadecimal digits: it names the version of a
	// profile.
	Hash string
	// Attachments are the files that the profile takes contents from, by the path that it writes.
	Attachments map[string][]byte
	// Refused says of such files why they could not be read.
	Refused map[string]string
	// Findings are what is known to be wrong with the document.
	Findings source.Findings
}

// Part is a document of a file, not yet decoded.
type Part struct {
	File source.File
	Node source.Node
}

// Parse splits files into their documents. A document in which something is wrong is there as far as it could be read.
func Parse(files ...source.File) ([]Part, source.Findings) {
	var (
		parts    []Part
		findings source.Findings
	)
	for _, file := range files {
		nodes, problems := source.Parse(file)
		if len(nodes)+len(problems) == 0 {
			problems = source.Findings{{Position: source.Position{File: file.Name}, Message: "no document in this file", Rule: source.NoDocument}}
		}
		findings = append(findings, problems...)
		for _, node := range nodes {
			parts = append(parts, Part{file, node})
		}
	}
	return parts, findings
}

// Load reads all profiles of the files. The findings are of all files together; when there are any, the documents are
// those that could still be decoded: the wings can say what else is wrong with them, and they must not be put in force.
func Load(files ...source.File) ([]*Document, source.Findings) {
	parts, findings := Parse(files...)
	return Decode(parts, findings)
}

// Decode reads the profiles in documents of which findings are known already; it gives those and its own, but none that is only a
// consequence of another.
func Decode(parts []Part, known source.Findings) ([]*Document, source.Findings) {
	all, findings := decode(providerProfile, parts, known)
	documents := make([]*Document, len(all))
	for i, r := range all {
		documents[i] = &Document{
			ProviderProfile: r.content, Node: r.node, Hash: r.hash, Attachments: r.file.Attachments, Refused: r.file.Refused, Findings: r.findings,
		}
	}
	return documents, findings
}

// providerProfile is how ProviderProfiles are read.
var providerProfile = kind[v1alpha1.ProviderProfile]{
	name:     v1alpha1.KindProviderProfile,
	metadata: func(p *v1alpha1.ProviderProfile) v1alpha1.Metadata { return p.Metadata },
	validate: func(p *v1alpha1.ProviderProfile, n source.Node) source.Findings {
		return validate(&Document{ProviderProfile: p, Node: n})
	},
}

// in are the findings in the document with an index.
func in(parts []Part, index int, findings source.Findings) source.Findings {
	begin, end := parts[index].Node.Position(), source.Position{}
	if next := index + 1; next < len(parts) && parts[next].Node.File == begin.File {
		end = parts[next].Node.Position()
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f source.Finding) bool {
		return f.File != begin.File || f.Position.Before(begin) || end.Line > 0 && !f.Position.Before(end)
	})
}

// hash returns the first 12 digits of the digest of a file.
func hash(file source.File) string { return Digest(file)[:12] }

// Digest returns the SHA-256 of a file and what is attached to it, in hexadecimal digits. The name of the file does not count.
func Digest(file source.File) string {
	sum := sha256.New()
	_, _ = sum.Write(file.Data)
	for _, path := range slices.Sorted(maps.Keys(file.Attachments)) {
		_, _ = fmt.Fprintf(sum, "\x00%s\x00%s", path, file.Attachments[path])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Summary is the document in one line, for logs: name, version and providers.
func (d *Document) Summary() string {
	return fmt.Sprintf("%s@%s %v", d.Metadata.Name, d.Hash, d.Providers)
}
