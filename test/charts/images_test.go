// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestProfileImages checks that images of profiles are volumes of the Pods stored by the API server, by digest and by
// tag, and that the programs read their folders.
func TestProfileImages(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for chart, want := range map[string]map[string]string{
		"gardener-extension-provider-graft": {
			"/etc/graft-profiles/0": "registry.example.com/graft/profiles" + digest, "/etc/graft-profiles/1": "registry.example.com:5000/team/profiles:v1.2.3",
		},
		"graft-network-provider": {
			"/etc/graft/profile-images/0": "registry.example.com/graft/pools" + digest, "/etc/graft/profile-images/1": "registry.example.com:5000/team/pools:v1.2.3",
		},
		"graft-resource-interpreter": {
			"/etc/graft/profile-images/0": "registry.example.com/graft/kinds" + digest, "/etc/graft/profile-images/1": "registry.example.com:5000/team/kinds:v1.2.3",
		},
	} {
		t.Run(chart, func(t *testing.T) {
			objects := one{chart, "profile-images"}.render(t, newNamespace(t, "restricted"))
			apply(t, objects)
			defer remove(t, objects)
			images, read := map[string]string{}, map[string]string{}
			for _, object := range objects {
				if err := seed.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				switch object.GetKind() {
				case "Deployment":
					images = mounted(template(t, object))
				case "ConfigMap":
					var config struct{ Profiles struct{ Paths []string } }
					data := object.Object["data"].(map[string]any)
					if err := yaml.Unmarshal([]byte(data["config.yaml"].(string)), &config); err != nil {
						t.Fatal(err)
					}
					for _, path := range config.Profiles.Paths {
						read[path] = want[path]
					}
				}
			}
			if diff := cmp.Diff(want, images); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, read); diff != "" {
				t.Errorf("paths in the configuration (-want +got):\n%s", diff)
			}
		})
	}
}

// mounted are the images of a Pod's volumes by the folders where its container can read, and not write them.
func mounted(pod *corev1.Pod) map[string]string {
	references := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		if volume.Image != nil {
			references[volume.Name] = volume.Image.Reference
		}
	}
	images := map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		if reference, ok := references[mount.Name]; ok && mount.ReadOnly {
			images[path.Clean(mount.MountPath)] = reference
		}
	}
	return images
}
