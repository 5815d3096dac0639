// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
)

const vector = `
images:
- {name: mcm, repository: registry.example.com/mcm, tag: v1.0.0}
- {name: ccm, repository: registry.example.com/ccm, tag: v1.33.0, targetVersion: "1.33.x"}
- {name: ccm, repository: registry.example.com/ccm, tag: v1.34.0, targetVersion: ">= 1.34"}
- {name: csi, repository: registry.example.com/csi, tag: v2-arm, architectures: [arm64]}
- {name: csi, repository: registry.example.com/csi, tag: v2, architectures: [amd64]}
- {name: kubelet, repository: registry.example.com/kubelet}
- {name: old, repository: registry.example.com/old, tag: v0, runtimeVersion: "< 1.30"}
`

func parse(t *testing.T, text string) *image.Vector {
	t.Helper()
	v, err := image.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChoose(t *testing.T) {
	overwrite := `
images:
- {name: mcm, ref: mirror.example.com/mcm@sha256:0000000000000000000000000000000000000000000000000000000000000000}
- {name: csi, repository: mirror.example.com/csi, architectures: [arm64]}
- {name: foreign, repository: mirror.example.com/foreign, tag: v9}
`
	for _, c := range []struct {
		name      string
		overwrite string
		wanted    image.Wanted
		want      map[string]string
	}{
		{"versions and architecture", "", image.Wanted{Target: "1.33.5", Architecture: "arm64", Runtime: "1.31.0"}, map[string]string{
			"mcm": "registry.example.com/mcm:v1.0.0", "ccm": "registry.example.com/ccm:v1.33.0",
			"csi": "registry.example.com/csi:v2-arm", "kubelet": "registry.example.com/kubelet:v1.33.5",
		}},
		{"no runtime version", "", image.Wanted{Target: "1.34.1"}, map[string]string{
			"mcm": "registry.example.com/mcm:v1.0.0", "ccm": "registry.example.com/ccm:v1.34.0",
			"csi": "registry.example.com/csi:v2", "kubelet": "registry.example.com/kubelet:v1.34.1", "old": "registry.example.com/old:v0",
		}},
		{"omits images that need a newer version", "", image.Wanted{Target: "1.31.0", Runtime: "1.31.0"}, map[string]string{
			"mcm": "registry.example.com/mcm:v1.0.0", "csi": "registry.example.com/csi:v2", "kubelet": "registry.example.com/kubelet:v1.31.0",
		}},
		{"applies the overwrites of a component", overwrite, image.Wanted{Target: "1.33.5", Architecture: "arm64", Runtime: "1.31.0"}, map[string]string{
			"mcm": "mirror.example.com/mcm@sha256:0000000000000000000000000000000000000000000000000000000000000000",
			"ccm": "registry.example.com/ccm:v1.33.0", "csi": "mirror.example.com/csi:v2-arm", "kubelet": "registry.example.com/kubelet:v1.33.5",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := parse(t, vector)
			if c.overwrite != "" {
				v = v.Overwrite(parse(t, c.overwrite))
			}
			if diff := cmp.Diff(c.want, v.Overwrite(nil).Choose(c.wanted)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"ccm", "csi", "kubelet", "mcm", "old"}, v.Names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"a document that is not YAML": "images: [", "an image without a name": "images: [{repository: a}]",
		"an invalid version constraint": `images: [{name: a, repository: b, targetVersion: "nope"}]`,
	} {
		if _, err := image.Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "reading the image vector: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
