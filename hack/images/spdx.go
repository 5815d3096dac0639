// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// spdxType is the media type of SPDX in JSON.
const spdxType = "application/spdx+json"

// These are the parts of SPDX 2.3 that are needed (https://spdx.github.io/spdx-spec/v2.3).
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID               string          `json:"SPDXID"`
		Name             string          `json:"name"`
		VersionInfo      string          `json:"versionInfo"`
		Purpose          string          `json:"primaryPackagePurpose"`
		DownloadLocation string          `json:"downloadLocation"`
		FilesAnalyzed    bool            `json:"filesAnalyzed"`
		LicenseConcluded string          `json:"licenseConcluded"`
		LicenseDeclared  string          `json:"licenseDeclared"`
		CopyrightText    string          `json:"copyrightText"`
		Checksums        []spdxChecksum  `json:"checksums,omitempty"`
		References       []spdxReference `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const (
	documentID  = "SPDXRef-DOCUMENT"
	nobodyKnows = "NOASSERTION"
)

// spdx is the SPDX document of an image: its programs and their modules.
func (o options) spdx(p program, platform string, programs []binary, parts []part) ([]byte, error) {
	document := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: fmt.Sprintf("%s %s %s", p.name, o.source.version, platform),
		Creation: spdxCreation{
			Created: o.source.time.Format(time.RFC3339), Creators: []string{"Organization: The Graft authors", "Tool: hack/images-" + o.source.version},
		},
	}
	all := sha256.New()
	relate := func(element, kind, related string) {
		document.Relationships = append(document.Relationships, spdxRelationship{Element: element, Type: kind, Related: related})
	}
	for _, program := range programs {
		sum := sha256.Sum256(program.data)
		all.Write(sum[:])
		id := spdxID("program", program.name)
		document.Packages = append(document.Packages, spdxPackage{
			ID: id, Name: program.name, VersionInfo: o.source.version, Purpose: "APPLICATION", DownloadLocation: nobodyKnows, LicenseConcluded: nobodyKnows,
			LicenseDeclared: "Apache-2.0", CopyrightText: "The Graft authors", Checksums: []spdxChecksum{{Algorithm: "SHA256", Value: hex.EncodeToString(sum[:])}},
		})
		relate(documentID, "DESCRIBES", id)
		linked := map[string]bool{"std": true, program.info.Main.Path: true}
		for _, dependency := range program.info.Deps {
			linked[dependency.Path] = true
		}
		for _, part := range parts {
			if linked[part.module] {
				relate(id, "DEPENDS_ON", spdxID("module", part.module))
			}
		}
	}
	for _, part := range parts {
		document.Packages = append(document.Packages, part.spdx())
		if part.module == bundleModule && p.certificates {
			relate(documentID, "DESCRIBES", spdxID("module", part.module))
		}
	}
	document.Namespace = fmt.Sprintf("%s/spdx/%s/%s/%s/%s", repository, p.name, o.source.version, platform, hex.EncodeToString(all.Sum(nil)))
	data, err := json.MarshalIndent(document, "", " ")
	return append(data, '\n'), err
}

func (p part) spdx() spdxPackage {
	name, purl := p.module, "pkg:golang/"+p.module+"@"+p.version
	if p.module == "std" {
		purl = "pkg:golang/stdlib@" + strings.TrimPrefix(p.version, "go")
	}
	return spdxPackage{
		ID: spdxID("module", p.module), Name: name, VersionInfo: p.version, Purpose: "LIBRARY", DownloadLocation: nobodyKnows,
		LicenseConcluded: p.licence, LicenseDeclared: p.licence, CopyrightText: nobodyKnows,
		References: []spdxReference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl}},
	}
}

// notInIDs are what identifiers of SPDX cannot have.
var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func spdxID(kind, name string) string {
	return "SPDXRef-" + kind + "-" + notInIDs.ReplaceAllString(name, "-")
}
