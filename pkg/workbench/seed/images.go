// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The labels of the extension's Deployments in a seed and for a virtual garden, and the names of the volumes of
// profileImages (charts/gardener-extension-provider-graft/templates/_helpers.tpl and deployment.yaml).
const (
	extensionLabel = "app.kubernetes.io/name in (gardener-extension-provider-graft,gardener-extension-provider-graft-runtime)"
	imageVolume    = "profiles-image-"
)

// ProfileImages returns the images with profiles that Deployments of the extension mount, in all namespaces, sorted.
// Only a container runtime or a registry client can read their content.
func (s *Seed) ProfileImages(ctx context.Context) ([]string, error) {
	deployments := resource{GroupVersion: schema.GroupVersion{Group: "apps", Version: "v1"}, plural: "deployments"}
	var images []string
	err := s.list(ctx, deployments, extensionLabel, func(raw json.RawMessage) error {
		var found struct {
			Spec struct {
				Template struct {
					Spec struct {
						Volumes []struct {
							Name  string
							Image struct{ Reference string }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return fmt.Errorf("decoding a Deployment: %w", err)
		}
		for _, volume := range found.Spec.Template.Spec.Volumes {
			if strings.HasPrefix(volume.Name, imageVolume) {
				images = append(images, volume.Image.Reference)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing Deployments of the extension, which may mount images with profiles: %w", err)
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}
