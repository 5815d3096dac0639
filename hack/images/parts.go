// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// part is a module that is in an image.
type part struct {
	module, version string
	// texts are its licences and notices by the names of their files; licence is what they say, in the words of SPDX.
	texts   map[string][]byte
	licence string
}

func (p part) folder() string { return p.module + "@" + p.version }

// bundleModule is where CA certificates come from: Mozilla's, as the authors of Go follow them.
const bundleModule = "golang.org/x/crypto/x509roots/fallback"

const bundleNotice = `The CA certificates are those of Mozilla's NSS (certdata.txt), under the Mozilla Public License 2.0: https://mozilla.org/MPL/2.0/.
Their source is at https://hg.mozilla.org/projects/nss/file/tip/lib/ckfw/builtins/certdata.txt.
`

// certificates are those of Mozilla's that hold without a condition, in PEM.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file cannot say conditions
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// bundleVersion is that of the certificates, as this program was built with.
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

// parts are Go's library, the programs' own module and all modules that are linked into them, by name.
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

// licenceFile matches the names that licences and notices have.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents|unlicense)([-._].*)?$`)

// readLicences reads those at the top of a module.
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

// known are the identifiers of SPDX that are believed; texts of others are left to people.
func known(id string) bool {
	return slices.Contains([]string{
		"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib",
	}, id)
}

// judge says which licences the texts are, joined; NOASSERTION where that is not clear.
func judge(texts map[string][]byte) string {
	found := map[string]bool{}
	for name, text := range texts {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "notice") || strings.HasPrefix(lower, "patents") {
			continue
		}
		coverage := licensecheck.Scan(text)
		if coverage.Percent < 60 {
			return "NOASSERTION"
		}
		for _, match := range coverage.Match {
			if !known(match.ID) {
				return "NOASSERTION"
			}
			found[match.ID] = true
		}
	}
	if len(found) == 0 {
		return "NOASSERTION"
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " AND ")
}
