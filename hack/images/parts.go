// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/licensecheck"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// part is a module in an image.
type part struct {
	module, version string
	// texts has the licences and notices by file name; licence is their SPDX expression.
	texts   map[string][]byte
	licence string
}

// bundleModule contains Mozilla's CA certificates, maintained by the Go authors.
const bundleModule = "golang.org/x/crypto/x509roots/fallback"

const bundleNotice = `The CA certificates are those of Mozilla's NSS (certdata.txt), under the Mozilla Public License 2.0: https://mozilla.org/MPL/2.0/.
Their source is at https://hg.mozilla.org/projects/nss/file/tip/lib/ckfw/builtins/certdata.txt.
`

// certificates are Mozilla's unconditionally trusted certificates, in PEM.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot express constraints
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// bundleVersion is the version of the certificates that this program was built with.
func bundleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == bundleModule {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

// binary is one compiled program.
type binary struct {
	name string
	data []byte
	info *buildinfo.BuildInfo
}

// read returns the programs of an image in the order of the image.
func (b *binaries) read(p program) ([]binary, error) {
	var out []binary
	for _, pkg := range p.packages {
		data, err := os.ReadFile(filepath.Join(b.folder, path.Base(pkg)))
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("reading what Go says of %s: %w", pkg, err)
		}
		out = append(out, binary{name: path.Base(pkg), data: data, info: info})
	}
	return out, nil
}

// parts returns Go's library, the programs' own module and all modules that are linked into them, by name.
func (o options) parts(p program, b *binaries, programs []binary) ([]part, error) {
	versions := map[string]string{}
	for _, program := range programs {
		versions["std"] = program.info.GoVersion
		versions[program.info.Main.Path] = o.source.version
		for _, dependency := range program.info.Deps {
			versions[dependency.Path] = dependency.Version
			if dependency.Replace != nil {
				versions[dependency.Path] = dependency.Replace.Version
			}
		}
	}
	var out []part
	for _, module := range slices.Sorted(maps.Keys(versions)) {
		made := part{module: module, version: versions[module]}
		var err error
		if made.texts, err = readLicences(b.modules[module]); err != nil {
			return nil, fmt.Errorf("reading the licences of %s: %w", module, err)
		}
		made.licence = judge(made.texts)
		out = append(out, made)
	}
	if p.certificates {
		out = append(out, part{module: bundleModule, version: bundleVersion(), licence: "MPL-2.0", texts: map[string][]byte{"NOTICE": []byte(bundleNotice)}})
	}
	return out, nil
}

// licenceFile matches the file names of licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

// readLicences reads the licences and notices in the root folder of a module.
func readLicences(folder string) (map[string][]byte, error) {
	if folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		out[entry.Name()] = text
	}
	return out, nil
}

// known are the SPDX identifiers of licences that need no review.
var known = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib",
}

// judge returns the licences of the texts, joined, or NOASSERTION if they are unclear.
func judge(texts map[string][]byte) string {
	found := map[string]bool{}
	for name, text := range texts {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "notice") || strings.HasPrefix(lower, "patents") {
			continue
		}
		coverage := licensecheck.Scan(text)
		if coverage.Percent < 60 {
			return unknown
		}
		for _, match := range coverage.Match {
			if !slices.Contains(known, match.ID) {
				return unknown
			}
			found[match.ID] = true
		}
	}
	if len(found) == 0 {
		return unknown
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " AND ")
}

// spdxType is the media type of SPDX in JSON.
const spdxType = "application/spdx+json"

// unknown is SPDX's value for an unknown licence.
const unknown = "NOASSERTION"

// spdx returns the SPDX document of an image: its programs and their modules.
func (o options) spdx(p program, platform string, programs []binary, parts []part) ([]byte, error) {
	document := spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: fmt.Sprintf("%s %s %s", p.name, o.source.version, platform),
		CreationInfo: &spdx.CreationInfo{Created: o.source.time.Format(time.RFC3339), Creators: []common.Creator{
			{CreatorType: "Organization", Creator: "The Graft authors"}, {CreatorType: "Tool", Creator: "hack/images-" + o.source.version},
		}},
	}
	all := sha256.New()
	relate := func(element common.ElementID, kind string, related common.ElementID) {
		document.Relationships = append(document.Relationships, &spdx.Relationship{
			RefA: common.DocElementID{ElementRefID: element}, Relationship: kind, RefB: common.DocElementID{ElementRefID: related},
		})
	}
	for _, program := range programs {
		sum := sha256.Sum256(program.data)
		all.Write(sum[:])
		id := spdxID("program", program.name)
		document.Packages = append(document.Packages, &spdx.Package{
			PackageSPDXIdentifier: id, PackageName: program.name, PackageVersion: o.source.version, PrimaryPackagePurpose: "APPLICATION",
			PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: "Apache-2.0",
			PackageCopyrightText: "The Graft authors", PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", sum)}},
		})
		relate(document.SPDXIdentifier, common.TypeRelationshipDescribe, id)
		linked := map[string]bool{"std": true, program.info.Main.Path: true}
		for _, dependency := range program.info.Deps {
			linked[dependency.Path] = true
		}
		for _, part := range parts {
			if linked[part.module] {
				relate(id, common.TypeRelationshipDependsOn, spdxID("module", part.module))
			}
		}
	}
	for _, part := range parts {
		document.Packages = append(document.Packages, part.spdx())
		if part.module == bundleModule && p.certificates {
			relate(document.SPDXIdentifier, common.TypeRelationshipDescribe, spdxID("module", part.module))
		}
	}
	document.DocumentNamespace = fmt.Sprintf("%s/spdx/%s/%s/%s/%x", repository, p.name, o.source.version, platform, all.Sum(nil))
	data, err := json.MarshalIndent(document, "", " ")
	return append(data, '\n'), err
}

func (p part) spdx() *spdx.Package {
	locator := "pkg:golang/" + p.module + "@" + p.version
	if p.module == "std" {
		locator = "pkg:golang/stdlib@" + strings.TrimPrefix(p.version, "go")
	}
	return &spdx.Package{
		PackageSPDXIdentifier: spdxID("module", p.module), PackageName: p.module, PackageVersion: p.version, PrimaryPackagePurpose: "LIBRARY",
		PackageDownloadLocation: unknown, PackageLicenseConcluded: p.licence, PackageLicenseDeclared: p.licence, PackageCopyrightText: unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: locator}},
	}
}

// notInIDs matches characters that SPDX identifiers cannot have.
var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func spdxID(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + notInIDs.ReplaceAllString(name, "-"))
}
