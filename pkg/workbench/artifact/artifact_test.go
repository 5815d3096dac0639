// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/artifact"
)

func TestCollect(t *testing.T) {
	profile := func(name, text string, attachments map[string][]byte) source.File {
		return source.File{Name: name, Data: []byte(text), Attachments: attachments}
	}
	script := map[string][]byte{"files/a.sh": []byte("a"), "./images.yaml": []byte("i")}
	for name, test := range map[string]struct {
		profiles []source.File
		want     map[string]string
		problem  string
	}{
		"a profile with files and images": {[]source.File{profile("one/p.yaml", "p", script)}, map[string]string{"p.yaml": "p", "files/a.sh": "a", "images.yaml": "i"}, ""},
		"of two folders": {
			[]source.File{profile("one/p.yaml", "p", script), profile("two/q.yaml", "q", script)},
			map[string]string{"p.yaml": "p", "q.yaml": "q", "files/a.sh": "a", "images.yaml": "i"}, "",
		},
		"two of one name": {
			[]source.File{profile("one/p.yaml", "p", nil), profile("two/p.yaml", "q", nil)}, map[string]string{"one-p.yaml": "p", "two-p.yaml": "q"}, "",
		},
		"two of one path": {[]source.File{profile("p.yaml", "p", nil), profile("p.yaml", "q", nil)}, nil, "two that are called p.yaml"},
		"two files of one name": {
			[]source.File{profile("one/p.yaml", "p", script), profile("two/q.yaml", "q", map[string][]byte{"files/a.sh": []byte("b")})},
			nil, "two that are called files/a.sh",
		},
		"a file where there is a folder": {
			[]source.File{profile("one/a.yaml", "p", map[string][]byte{"a.yaml/b/c": []byte("c")})}, nil, "a.yaml is a file, and would be the folder of a.yaml/b/c",
		},
		"files of one beginning": {
			[]source.File{profile("one/a.yaml", "p", map[string][]byte{"a.yaml.d/b": []byte("b")})}, map[string]string{"a.yaml": "p", "a.yaml.d/b": "b"}, "",
		},
		"a file outside of the folder is refused": {[]source.File{profile("p.yaml", "p", map[string][]byte{"../a.sh": []byte("a")})}, nil, "../a.sh would not be in the image"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := artifact.Collect(test.profiles)
			if (err == nil) != (test.problem == "") || (err != nil && !strings.Contains(err.Error(), test.problem)) {
				t.Fatalf("got %v, want %q", err, test.problem)
			}
			if diff := cmp.Diff(test.want, texts(files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func texts(files map[string][]byte) map[string]string {
	var out map[string]string
	for name, data := range files {
		if out == nil {
			out = map[string]string{}
		}
		out[name] = string(data)
	}
	return out
}

// unpack gives the files of an archive. All must be of root, without a time, and after their folders.
func unpack(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files, folders := map[string][]byte{}, map[string]bool{"": true}
	for in := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(header.Name, "/")
		if above := name[:max(0, strings.LastIndex(name, "/"))]; !folders[above] || header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 0 {
			t.Errorf("the archive has %+v", header)
		}
		if header.Typeflag == tar.TypeDir {
			folders[name] = true
			continue
		}
		if files[name], err = io.ReadAll(in); err != nil || header.Mode != 0o444 {
			t.Fatalf("%+v: %v", header, err)
		}
	}
}

// blob returns the content of a descriptor, and checks its digest and size.
func blob(t *testing.T, layout map[string][]byte, d map[string]any, mediaType string, into any) []byte {
	t.Helper()
	data := layout["blobs/"+strings.ReplaceAll(d["digest"].(string), ":", "/")]
	if d["mediaType"] != mediaType || d["digest"] != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) || d["size"] != float64(len(data)) {
		t.Fatalf("%v does not describe %d bytes of %s", d, len(data), mediaType)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// TestWrite checks that an image has the files for each platform, and the same digest each time.
func TestWrite(t *testing.T) {
	files := map[string][]byte{"profile.yaml": []byte("a: b\n"), "files/hello.sh": []byte("echo hello\n"), "files/deep/er.txt": {}}
	var out, again bytes.Buffer
	digest, err := artifact.Write(&out, files, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := artifact.Write(&again, files, "v1"); err != nil || other != digest || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the same files give %s and %s (%v)", digest, other, err)
	}
	if other, err := artifact.Write(&again, map[string][]byte{"profile.yaml": nil}, "v1"); err != nil || other == digest {
		t.Errorf("other files give %s, too (%v)", other, err)
	}
	type document struct {
		Config            map[string]any
		Manifests, Layers []map[string]any
	}
	layout := unpack(t, out.Bytes())
	var top, index document
	if err := json.Unmarshal(layout["index.json"], &top); err != nil || len(top.Manifests) != 1 || top.Manifests[0]["digest"] != digest {
		t.Fatalf("the layout names %+v (%v)", top, err)
	}
	blob(t, layout, top.Manifests[0], "application/vnd.oci.image.index.v1+json", &index)
	platforms := map[string]bool{}
	for _, d := range index.Manifests {
		var manifest document
		blob(t, layout, d, "application/vnd.oci.image.manifest.v1+json", &manifest)
		var config struct {
			Architecture, OS string
			RootFS           struct {
				Type    string
				DiffIDs []string `json:"diff_ids"`
			}
		}
		blob(t, layout, manifest.Config, "application/vnd.oci.image.config.v1+json", &config)
		compressed, err := gzip.NewReader(bytes.NewReader(blob(t, layout, manifest.Layers[0], "application/vnd.oci.image.layer.v1.tar+gzip", nil)))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(compressed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(files), texts(unpack(t, layer))); diff != "" {
			t.Errorf("the layer (-want +got):\n%s", diff)
		}
		if len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != fmt.Sprintf("sha256:%x", sha256.Sum256(layer)) {
			t.Errorf("the configuration %+v is not that of %+v", config, manifest)
		}
		platforms[config.OS+"/"+config.Architecture] = true
	}
	if diff := cmp.Diff(map[string]bool{"linux/amd64": true, "linux/arm64": true}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// TestDigest checks that the digest of an image stays the same with other versions of Go and of this program, so that
// pinned digests stay valid. The content is larger than a block of the compression.
func TestDigest(t *testing.T) {
	files := map[string][]byte{"profile.yaml": []byte("a: b\n"), "files/large.txt": bytes.Repeat([]byte("0123456789abcdef"), 1<<13), "files/é.txt": {}}
	got, err := artifact.Write(io.Discard, files, "v1")
	if want := "sha256:2e73d9319828ec9b5514fb1baa1ca9101984a8cbb0a5ac18f96fd02cfc173e40"; err != nil || got != want {
		t.Errorf("the digest is %s, not %s (%v)", got, want, err)
	}
}
