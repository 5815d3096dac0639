// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profile turns the bytes of files and ConfigMaps into documents: strictly decoded, validated as far as that needs
// no knowledge of any cloud or caller, with the place of every error. What a rule means is the wings' business; this package
// must not import them. Enter at Load.
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
}

// Load reads all profiles of the files. The findings are of all files together; when there are any, the documents are
// those that could still be decoded, and must not be put in force.
func Load(files ...source.File) ([]*Document, source.Findings) {
	var (
		documents []*Document
		findings  source.Findings
		named     = map[string]source.Position{}
	)
	for _, file := range files {
		nodes, problems := source.Parse(file)
		findings = append(findings, problems...)
		if len(problems) > 0 {
			continue
		}
		if len(nodes) == 0 {
			findings = append(findings, source.Finding{Position: source.Position{File: file.Name}, Message: "no document in this file"})
		}
		for _, node := range nodes {
			document, problems := decode(node)
			findings = append(findings, problems...)
			if document == nil {
				continue
			}
			if earlier, ok := named[document.Metadata.Name]; ok {
				findings = append(findings, node.Finding("metadata.name", "the profile %q is already defined at %s", document.Metadata.Name, earlier))
			}
			named[document.Metadata.Name] = node.Position()
			document.Hash, document.Attachments = hash(file), file.Attachments
			documents = append(documents, document)
		}
	}
	findings.Sort()
	return documents, findings
}

func hash(file source.File) string {
	sum := sha256.New()
	_, _ = sum.Write(file.Data)
	for _, path := range slices.Sorted(maps.Keys(file.Attachments)) {
		_, _ = fmt.Fprintf(sum, "\x00%s\x00%s", path, file.Attachments[path])
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

func decode(node source.Node) (*Document, source.Findings) {
	var head struct{ apiVersion, kind source.Node }
	for _, field := range node.Fields() {
		switch field.Key.Value {
		case "apiVersion":
			head.apiVersion = field.Value
		case "kind":
			head.kind = field.Value
		}
	}
	if findings := checkHead(node, head.apiVersion, head.kind); len(findings) > 0 {
		return nil, findings
	}
	document := &Document{ProviderProfile: &v1alpha1.ProviderProfile{}, Node: node}
	findings := source.Decode(node, "", document.ProviderProfile)
	return document, append(findings, validate(document)...)
}

func checkHead(node, apiVersion, kind source.Node) source.Findings {
	want := v1alpha1.GroupVersion.String()
	switch {
	case apiVersion.Node == nil:
		return source.Findings{node.Finding("apiVersion", "is missing: must be %s", want)}
	case apiVersion.Value != want:
		return source.Findings{apiVersion.Finding("apiVersion", "unknown apiVersion %q%s: must be %s",
			apiVersion.Value, source.Suggest(apiVersion.Value, []string{want}), want)}
	case kind.Node == nil:
		return source.Findings{node.Finding("kind", "is missing: must be %s", v1alpha1.KindProviderProfile)}
	case kind.Value != v1alpha1.KindProviderProfile:
		return source.Findings{kind.Finding("kind", "unknown kind %q%s: must be %s", kind.Value,
			source.Suggest(kind.Value, []string{v1alpha1.KindProviderProfile}), v1alpha1.KindProviderProfile)}
	default:
		return nil
	}
}

// Summary is the document in one line, for logs: name, version and providers.
func (d *Document) Summary() string {
	return fmt.Sprintf("%s@%s %v", d.Metadata.Name, d.Hash, d.Providers)
}
