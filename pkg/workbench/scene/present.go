// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"encoding/base64"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Find lets lookups find these objects.
func (s *Scene) Find(objects ...manifest.Object) error {
	for _, o := range objects {
		decoded, err := decode(o)
		if err != nil {
			return err
		}
		s.Present = append(s.Present, decoded)
	}
	return nil
}

// Invent lets lookups find the Secrets and ConfigMaps with constant names that they ask for and the scene does not have, with the values
// sample-<key>.
func (s *Scene) Invent(requests ...facts.LookupRequest) {
	namespace := s.Namespace().Name
	for _, l := range requests {
		if l.Computed || l.GroupVersionKind != facts.Secret && l.GroupVersionKind != facts.ConfigMap {
			continue
		}
		data := s.invented(l, l.In(namespace))
		for _, key := range l.Keys {
			if _, ok := data[key]; !ok && data != nil {
				value := "sample-" + key
				if l.IsSecret() {
					value = base64.StdEncoding.EncodeToString([]byte(value))
				}
				data[key] = value
			}
		}
	}
}

// inventedMark distinguishes invented objects from given ones.
const inventedMark = "graft invented it"

// invented returns the data of the object invented for a lookup, or nil if the object was given.
func (s *Scene) invented(l facts.LookupRequest, namespace string) map[string]any {
	for _, present := range s.Present {
		metadata, _ := present["metadata"].(map[string]any)
		in, _ := metadata["namespace"].(string)
		if present["kind"] != l.Kind || present["apiVersion"] != l.GroupVersion().String() || metadata["name"] != l.ObjectName || in != "" && in != namespace {
			continue
		}
		if data, ok := present["data"].(map[string]any); ok && metadata["uid"] == inventedMark {
			return data
		}
		return nil
	}
	data := map[string]any{}
	s.Present = append(s.Present, map[string]any{
		"apiVersion": l.GroupVersion().String(), "kind": l.Kind, "data": data,
		"metadata": map[string]any{"name": l.ObjectName, "namespace": namespace, "uid": inventedMark},
	})
	return data
}
