// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profile loads documents from the bytes of files and ConfigMaps: it decodes strictly, validates what
// does not depend on a cloud or client, and reports the position of each error. Other packages interpret the
// rules; this package must not import them. Start reading at Load and LoadNetworks.
package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Document is a loaded ProviderProfile.
type Document struct {
	*v1alpha1.ProviderProfile
	// Node is the whole document as written.
	Node source.Node
	// Hash is the first 12 hexadecimal digits of the SHA-256 of the file and its attachments. It identifies the
	// version of a profile.
	Hash string
	// Attachments has the content of the files that the profile names, by path.
	Attachments map[string][]byte
	// Refused has the errors of attachments that could not be read, by path.
	Refused map[string]string
	// Findings are the errors in the document.
	Findings source.Findings
}

// Part is a parsed document of a file.
type Part struct {
	File source.File
	Node source.Node
}

// Parse splits files into documents. An invalid document is included as far as it could be parsed.
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

// Load reads all profiles in the files. If there are findings, it returns the documents that could be decoded
// for further checks, but they must not become active.
func Load(files ...source.File) ([]*Document, source.Findings) {
	parts, findings := Parse(files...)
	return Decode(parts, findings)
}

// Decode decodes the profiles in parsed documents. It returns known and its own findings, without consequences
// of other findings.
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

// providerProfile describes how ProviderProfiles are read.
var providerProfile = documentKind[v1alpha1.ProviderProfile]{
	name:     v1alpha1.KindProviderProfile,
	metadata: func(p *v1alpha1.ProviderProfile) v1alpha1.Metadata { return p.Metadata },
	validate: func(p *v1alpha1.ProviderProfile, n source.Node) source.Findings {
		return validate(&Document{ProviderProfile: p, Node: n})
	},
}

// findingsIn returns the findings in the document with an index.
func findingsIn(parts []Part, index int, findings source.Findings) source.Findings {
	begin, end := parts[index].Node.Position(), source.Position{}
	if next := index + 1; next < len(parts) && parts[next].Node.File == begin.File {
		end = parts[next].Node.Position()
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f source.Finding) bool {
		return f.File != begin.File || f.Position.Before(begin) || end.Line > 0 && !f.Position.Before(end)
	})
}

// hash returns the first 12 digits of a file's digest.
func hash(file source.File) string { return Digest(file)[:12] }

// Digest returns the SHA-256 of a file and its attachments in hexadecimal. It does not depend on the file's
// name.
func Digest(file source.File) string {
	sum := sha256.New()
	_, _ = sum.Write(file.Data)
	for _, path := range slices.Sorted(maps.Keys(file.Attachments)) {
		_, _ = fmt.Fprintf(sum, "\x00%s\x00%s", path, file.Attachments[path])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Summaries returns a line for each document, for logs.
func Summaries[D interface{ Summary() string }](documents []D) []string {
	all := make([]string, len(documents))
	for i, d := range documents {
		all[i] = d.Summary()
	}
	return all
}

// CommonHash returns 12 digits that are equal for the same documents in the same order.
func CommonHash[D interface{ Summary() string }](documents []D) string {
	sum := sha256.Sum256([]byte(strings.Join(append(Summaries(documents), ""), "\n")))
	return hex.EncodeToString(sum[:])[:12]
}

// Summary returns name, version and providers in one line, for logs.
func (d *Document) Summary() string {
	return fmt.Sprintf("%s@%s %v", d.Metadata.Name, d.Hash, d.Providers)
}
