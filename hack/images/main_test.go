// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ggcr "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestReproducible builds a program in two folders and compares the results byte by byte.
func TestReproducible(t *testing.T) {
	var first []byte
	for range 2 {
		o := sample(t)
		mustRun(t, o)
		data, err := os.ReadFile(filepath.Join(o.out, "program.tar"))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("two builds differ")
		}
		first = data
	}
}

// TestImage reads an archive with another library and runs the program in it.
func TestImage(t *testing.T) {
	o := sample(t)
	mustRun(t, o)
	path := open(t, filepath.Join(o.out, "program.tar"))
	top, named := manifests(t, path)
	if len(named) != 3 || named[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("the index names %+v", named)
	}
	index, err := top.ImageIndex(named[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		t.Run(d.Platform.Architecture, func(t *testing.T) { holdImage(t, image, d.Platform.Architecture) })
	}
	if diff := cmp.Diff(o.platforms, platforms); diff != "" {
		t.Error(diff)
	}
	annotations := manifest.Annotations
	if annotations["org.opencontainers.image.revision"] != o.source.revision || annotations["org.opencontainers.image.created"] != "2023-11-14T22:13:20Z" {
		t.Errorf("the annotations are %v", manifest.Annotations)
	}
	holdReferrers(t, o, named[1:], manifest.Manifests, top)
}

// holdImage looks at the configuration and the files of one platform.
func holdImage(t *testing.T, image ggcr.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != architecture || !config.Created.Equal(commitTime) {
		t.Errorf("the image is for %s/%s of %s", config.OS, config.Architecture, config.Created)
	}
	want := ggcr.Config{User: "65532:65532", Entrypoint: []string{"/program"}, Env: []string{"PATH=/"}, WorkingDir: "/", Labels: config.Config.Labels}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}
	if config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" {
		t.Errorf("the labels are %v", config.Config.Labels)
	}
	files, headers := merged(t, image)
	for _, header := range headers {
		if header.Uid != 0 || header.Gid != 0 || header.Mode&0o7022 != 0 || !header.ModTime.Equal(commitTime) {
			t.Errorf("%s belongs to %d:%d, has the mode %o and is of %s", header.Name, header.Uid, header.Gid, header.Mode, header.ModTime)
		}
	}
	if text := string(files["licenses/example.org/program@v1.2.3/LICENSE"]); text != "anybody may do anything" {
		t.Errorf("the licence is %q", text)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("there are no CA certificates")
	}
	if architecture != runtime.GOARCH {
		return
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, files["program"], executable); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput(); err != nil || string(out) != "program v1.2.3 0123456789ab\n" {
		t.Errorf("unexpected output of --version: %s, %v", out, err)
	}
}

// holdReferrers looks at the documents that refer to the images of the platforms.
func holdReferrers(t *testing.T, o options, referrers, images []ggcr.Descriptor, top ggcr.ImageIndex) {
	t.Helper()
	for i, d := range referrers {
		artifact, err := top.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := artifact.RawManifest()
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			ArtifactType string
			Subject      struct{ Digest string }
		}
		if err := json.Unmarshal(raw, &manifest); err != nil {
			t.Fatal(err)
		}
		if d.ArtifactType != spdxType || manifest.ArtifactType != spdxType || manifest.Subject.Digest != images[i].Digest.String() {
			t.Errorf("%s is %s, about %s", d.ArtifactType, manifest.ArtifactType, manifest.Subject.Digest)
		}
		layers, err := artifact.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		beside, err := os.ReadFile(filepath.Join(o.out, "program-"+strings.ReplaceAll(o.platforms[i], "/", "-")+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		if digest, err := layers[0].Digest(); err != nil || digest != mustHash(t, beside) {
			t.Errorf("the attached document differs from the file: %s, %v", digest, err)
		}
		expectSPDX(t, beside)
	}
}

func mustHash(t *testing.T, data []byte) ggcr.Hash {
	t.Helper()
	hash, _, err := ggcr.SHA256(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// expectSPDX checks that an SPDX document has the expected parts, and that every element that it refers to exists.
func expectSPDX(t *testing.T, data []byte) {
	t.Helper()
	var document struct {
		SPDXVersion, SPDXID, DataLicense, DocumentNamespace string
		Packages                                            []struct{ SPDXID, Name, LicenseConcluded string }
		Relationships                                       []struct{ SPDXElementID, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	if document.SPDXVersion != "SPDX-2.3" || document.DataLicense != "CC0-1.0" || !strings.HasPrefix(document.DocumentNamespace, repository+"/spdx/program/v1.2.3/") {
		t.Errorf("the head of the document is %+v", document)
	}
	licences := map[string]string{}
	there := map[string]bool{document.SPDXID: true}
	for _, p := range document.Packages {
		licences[p.Name] = p.LicenseConcluded
		if there[p.SPDXID] {
			t.Errorf("%s is there twice", p.SPDXID)
		}
		there[p.SPDXID] = true
	}
	want := map[string]string{
		"program": unknown, "example.org/program": unknown, "std": "BSD-3-Clause", "golang.org/x/crypto/x509roots/fallback": "MPL-2.0",
	}
	if diff := cmp.Diff(want, licences); diff != "" {
		t.Error(diff)
	}
	for _, r := range document.Relationships {
		if !there[r.SPDXElementID] || !there[r.RelatedSPDXElement] {
			t.Errorf("%+v names what is not there", r)
		}
	}
}

func TestJudge(t *testing.T) {
	const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense,
and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:
The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR
A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
	for name, test := range map[string]struct {
		texts map[string][]byte
		want  string
	}{
		"reports unknown without any file": {want: unknown},
		"recognizes the MIT license":       {texts: map[string][]byte{"LICENSE": []byte(mit)}, want: "MIT"},
		"with a notice":                    {texts: map[string][]byte{"LICENSE": []byte(mit), "NOTICE": []byte("made by somebody")}, want: "MIT"},
		"an unknown licence":               {texts: map[string][]byte{"LICENSE": []byte("You may look at it on Mondays.")}, want: unknown},
		"two licence files, one unknown":   {texts: map[string][]byte{"LICENSE": []byte(mit), "COPYING": []byte("Ask me.")}, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judge(test.texts); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct{ platforms, only, want string }{
		"builds all images for two platforms":        {platforms: "linux/amd64,linux/arm64"},
		"builds one image for one platform":          {platforms: "linux/amd64", only: "graft"},
		"rejects a platform without an architecture": {platforms: "linux", want: `-platforms: "linux" is not such as linux/amd64`},
		"rejects an image that does not exist":       {platforms: "linux/amd64", only: "graft,grft", want: `-only: there is no image "grft"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := options{programs: programs()}
			got := ""
			if err := o.choose(test.platforms, test.only); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.only == "graft" && len(o.programs) != 1 {
				t.Errorf("%d images are chosen", len(o.programs))
			}
		})
	}
}

// TestPrograms compares the packages of the images with the folders of cmd: each program has an image.
func TestPrograms(t *testing.T) {
	built := map[string]bool{}
	for _, p := range programs() {
		for _, pkg := range p.packages {
			built[filepath.Base(pkg)] = true
		}
	}
	entries, err := os.ReadDir("../../cmd")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, entry := range entries {
		if entry.IsDir() {
			there[entry.Name()] = true
		}
	}
	if diff := cmp.Diff(there, built); diff != "" {
		t.Error(diff)
	}
}
