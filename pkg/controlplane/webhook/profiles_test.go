// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPathsOfKubelet swaps a mounted ConfigMap as the kubelet does: a link to a folder of the version is replaced.
func TestPathsOfKubelet(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "..v1", "a.yaml"), "kind: 1")
	write(t, filepath.Join(folder, "..v2", "a.yaml"), "kind: 2")
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(folder, name+".new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, name+".new"), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..v1", "..data")
	link("..data/a.yaml", "a.yaml")
	write(t, filepath.Join(folder, "notes.txt"), "x")
	write(t, filepath.Join(folder, "more", "b.yaml"), "x")
	write(t, filepath.Join(folder, "table.yaml"), "rows: [{a: b}]\n")
	if diff := cmp.Diff([]string{filepath.Join(folder, "table.yaml")}, Paths{folder}.Ignored()); diff != "" {
		t.Errorf("left alone (-want +got):\n%s", diff)
	}
	for _, want := range []string{"kind: 1", "kind: 2"} {
		files, err := Paths{folder}.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]source.File{{Name: filepath.Join(folder, "a.yaml"), Data: []byte(want)}}, files); diff != "" {
			t.Error(diff)
		}
		link("..v2", "..data")
	}
	missing := filepath.Join(folder, "missing.yaml")
	files, err := Paths{missing, folder}.Read(context.Background())
	if err != nil || len(files) != 2 || files[0].Name != missing || !strings.Contains(files[0].Problem, "no such file") || files[1].Problem != "" {
		t.Errorf("want a problem of the missing file and the other file, got %+v, %v", files, err)
	}
}

func TestConfigMaps(t *testing.T) {
	configMap := func(namespace, name, label string, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{ProfileLabel: label}}, Data: data}
	}
	c := fake.NewClientBuilder().WithObjects(
		configMap("own", "b", "true", map[string]string{"y.yml": "3", "x.yaml": "2", "notes.txt": "no"}),
		configMap("own", "a", "true", map[string]string{"z.yaml": "1"}),
		configMap("own", "c", "false", map[string]string{"z.yaml": "no"}),
		configMap("other", "d", "true", map[string]string{"z.yaml": "no"}),
	).Build()
	files, err := ConfigMaps{Reader: c, Namespace: "own"}.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []source.File{
		{Name: "configmap/own/a/z.yaml", Data: []byte("1")},
		{Name: "configmap/own/b/x.yaml", Data: []byte("2")},
		{Name: "configmap/own/b/y.yml", Data: []byte("3")},
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}

// waitingReader is a cache that waits for permission to list and watch.
type waitingReader struct{ client.Reader }

func (waitingReader) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestConfigMapsWithoutPermission checks that a cache that waits does not block the reload of profiles forever.
func TestConfigMapsWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := ConfigMaps{Reader: waitingReader{}, Namespace: "own"}.Read(t.Context())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != listTimeout {
			t.Errorf("reading ends after %s with %v, want %v after %s", took, err, context.DeadlineExceeded, listTimeout)
		}
	})
}

// TestFilesOfProfileAreAttached checks that files of a profile are read with it, and not as profiles.
func TestFilesOfProfileAreAttached(t *testing.T) {
	t.Run("from a ConfigMap", func(t *testing.T) {
		const text = "imageVector: vectors/images.yaml\n"
		c := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a", Labels: map[string]string{ProfileLabel: "true"}},
			Data:       map[string]string{"z.yaml": text, "vectors_images.yaml": "images: []\n"},
		}).Build()
		files, err := ConfigMaps{Reader: c, Namespace: "own"}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []source.File{{
			Name: "configmap/own/a/z.yaml", Data: []byte(text), Attachments: map[string][]byte{"vectors/images.yaml": []byte("images: []\n")},
		}}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("from a folder", func(t *testing.T) {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "z.yaml"), "kind: x\nimageVector: images.yaml\n")
		write(t, filepath.Join(folder, "images.yaml"), "images: []\n")
		files, err := Paths{folder}.Read(t.Context())
		if err != nil || len(files) != 1 || filepath.Base(files[0].Name) != "z.yaml" || len(files[0].Attachments) != 1 {
			t.Errorf("got %v, %v", files, err)
		}
	})
}
