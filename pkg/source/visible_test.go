// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestVisibleNames checks that names and keys with control or bidirectional characters are rejected, and that findings
// do not repeat them.
func TestVisibleNames(t *testing.T) {
	for text, want := range map[string]string{
		`rules: [{name: "caf\u00e9 gr\u00f6\u00dfer \u05d0"}]`: "",
		`message: "two\nlines"`:                                "",
		"name: |\n  two\n  lines":                              `doc.yaml:1:7: name: the name "two\nlines"`,
		`rules: [{name: "a\u202eb"}]`:                          `doc.yaml:1:16: rules[0].name: the name "a\u202eb" has a control character or a bidirectional mark: remove it`,
		"metadata: {name: a\u200fb}":                           `doc.yaml:1:18: metadata.name: the name "a\u200fb"`,
		`name: "a\u2066b"`:                                     `the name "a\u2066b"`,
		`name: "bell\a"`:                                       `the name "bell\a"`,
		`{name: "escape\e[2J"}`:                                `the name "escape\x1b[2J"`,
		`variables: {"a\u0085b": "x"}`:                         `doc.yaml:1:13: variables.a\u0085b: the name "a\u0085b"`,
		`parameters: {"a\u061cb": "x"}`:                        `the name "a\u061cb"`,
		`cases: [{name: "line\u2028two"}]`:                     `the name "line\u2028two"`,
	} {
		t.Run(text, func(t *testing.T) {
			_, findings := source.Parse(source.File{Name: "doc.yaml", Data: []byte(text)})
			if want == "" {
				if len(findings) > 0 {
					t.Errorf("got %v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].Rule != source.InvalidName || !strings.Contains(findings.Error(), want) {
				t.Errorf("got %v, want %s", findings, want)
			}
		})
	}
}
