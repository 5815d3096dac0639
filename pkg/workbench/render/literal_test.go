// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// literals are texts of Gardener or of testdata/secrets/profile.yaml that stay visible, although a Secret of the
// lookups has the value "true".
var literals = map[string][]string{
	"deployment.json": {
		"leader-elect=true", "concurrent-serviceaccount-token-syncs=15", "/srv/token", "acme-token", "verbose", "T", "eu-0", "eu-1a",
	},
	"operatingsystemconfig.json": {"[Service]", "/etc/acme.conf", "fail-swap=true", "protectKernelDefaults: true", "Restart=always"},
}

// bare finds visible parts of the Secret: its region, plain and as base64, and its flag where rules wrote it.
var bare = regexp.MustCompile(`eu-1([^a0-9]|$)|ZXUtMQ|cloud-flag[= "]+true|\bflag=true|F", *"?value"?: *"?true|failSwapOn: true`)

// nested is a placeholder in another one.
var nested = regexp.MustCompile(`from Secret [^)]*\(from`)

// TestTextNextToSecretIsShown checks for each format that values from Secrets are hidden in their places, and that the text
// next to them is shown.
func TestTextNextToSecretIsShown(t *testing.T) {
	text := read(t, "profile.yaml")
	for object, literals := range literals {
		change := admittedBy(t, text, read(t, object), map[string]string{"region": "eu-1", "flag": "true"})
		for kind, formats := range map[string][]render.Format{"object": render.Objects(), "difference": render.Differences()} {
			for _, format := range formats {
				t.Run(kind+" "+object+" "+format.Name, func(t *testing.T) {
					var out strings.Builder
					if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
						t.Fatal(err)
					}
					if format.Name != "html" { // of which package report holds how it looks
						name := strings.TrimSuffix(object, ".json") + "-" + kind + "." + format.Name
						golden.Compare(t, filepath.Join("testdata", "secrets", "want", name), out.String())
					}
					shown := decoded(out.String()[max(0, strings.Index(out.String(), "<main")):])
					if found := bare.FindString(shown) + nested.FindString(shown); found != "" {
						t.Errorf("%q is shown:\n%s", found, shown)
					}
					for _, literal := range literals {
						if kind == "object" && !strings.Contains(shown, literal) {
							t.Errorf("%s is not shown:\n%s", literal, shown)
						}
					}
				})
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "secrets", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
