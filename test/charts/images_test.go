// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"path"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var _ = Describe("images with profiles, by digest and by tag", func() {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	DescribeTable("are volumes of the stored Pods, in folders that the program reads",
		func(ctx SpecContext, chart string, want map[string]string) {
			objects := one{chart, "profile-images"}.render(newNamespace(ctx, "restricted"))
			apply(ctx, objects)
			remove(objects)
			images, read := map[string]string{}, map[string]string{}
			for _, object := range objects {
				Expect(seed.Client().Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				switch object.GetKind() {
				case "Deployment":
					images = mounted(template(object))
				case "ConfigMap":
					var config struct{ Profiles struct{ Paths []string } }
					data := object.Object["data"].(map[string]any)
					Expect(yaml.Unmarshal([]byte(data["config.yaml"].(string)), &config)).To(Succeed())
					for _, path := range config.Profiles.Paths {
						read[path] = want[path]
					}
				}
			}
			Expect(images).To(BeComparableTo(want), "the images by folder")
			Expect(read).To(BeComparableTo(want), "the folders in the configuration")
		},
		Entry("in the extension", "gardener-extension-provider-graft", map[string]string{
			"/etc/graft-profiles/0": "registry.example.com/graft/profiles" + digest,
			"/etc/graft-profiles/1": "registry.example.com:5000/team/profiles:v1.2.3",
		}),
		Entry("in the network provider", "graft-network-provider", map[string]string{
			"/etc/graft/profile-images/0": "registry.example.com/graft/pools" + digest,
			"/etc/graft/profile-images/1": "registry.example.com:5000/team/pools:v1.2.3",
		}),
		Entry("in the resource interpreter", "graft-resource-interpreter", map[string]string{
			"/etc/graft/profile-images/0": "registry.example.com/graft/kinds" + digest,
			"/etc/graft/profile-images/1": "registry.example.com:5000/team/kinds:v1.2.3",
		}),
	)
})

// mounted returns the images of a Pod's read-only volumes by the folders of its container.
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
