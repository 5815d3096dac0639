// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrSet is wrapped by the errors of Options.Set.
var ErrSet = errors.New("setting a field of the shoot")

// shortcuts are the fields of a Shoot that expressions call by a name of their own, as expressions call them.
var shortcuts = map[string]string{
	"annotations": "metadata.annotations", "labels": "metadata.labels", "name": "metadata.name",
	"cloudProfile": "spec.cloudProfile.name", "hibernated": "spec.hibernation.enabled",
	"highAvailability": "spec.controlPlane.highAvailability.failureTolerance.type", "kubernetes": "spec.kubernetes.version",
	"networking": "spec.networking", "provider": "spec.provider.type", "purpose": "spec.purpose", "region": "spec.region",
}

// Set sets fields: path=value, where the path begins as expressions name fields of the shoot (region, networking.nodes), or
// with spec, metadata or status, or with seed. or cloudProfile. for those resources. The value is YAML.
func (o *Options) Set(fields ...string) error {
	for _, field := range fields {
		path, text, ok := strings.Cut(field, "=")
		if !ok || path == "" {
			return fmt.Errorf("%w: %q must be path=value, such as region=eu", ErrSet, field)
		}
		into, path, err := o.resource(path)
		if err != nil {
			return err
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrSet, field, err)
		}
		if text == "" {
			raw = []byte(`""`)
		}
		value := json.RawMessage(raw)
		members := steps(path)
		for _, step := range slices.Backward(members) {
			if value, err = json.Marshal(map[string]json.RawMessage{step: value}); err != nil {
				return fmt.Errorf("%w: %q: %w", ErrSet, field, err)
			}
		}
		if *into, err = Merge(*into, value); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrSet, field, err)
		}
	}
	if len(o.Shoot) == 0 {
		return nil
	}
	return o.follow()
}

// resource returns the resource that contains a path, and the path inside of it.
func (o *Options) resource(path string) (*json.RawMessage, string, error) {
	for prefix, into := range map[string]*json.RawMessage{"seed.": &o.Seed, "cloudProfile.": &o.CloudProfile} {
		if inner, ok := strings.CutPrefix(path, prefix); ok {
			return into, inner, nil
		}
	}
	path = strings.TrimPrefix(path, "shoot.")
	first, rest := path, ""
	if end := strings.IndexAny(path, ".["); end >= 0 {
		first, rest = path[:end], path[end:]
	}
	switch first {
	case "spec", "metadata", "status":
		return &o.Shoot, path, nil
	}
	full, ok := shortcuts[first]
	if !ok {
		return nil, "", fmt.Errorf("%w: unknown field %q%s; name it by its path, such as spec.%s", ErrSet, first,
			source.Suggest(first, slices.Collect(maps.Keys(shortcuts))), first)
	}
	return &o.Shoot, full + rest, nil
}

// steps returns the members of a path: a.b.c, with brackets around a key with dots, a[example.org/key].
func steps(path string) []string {
	var found []string
	for path != "" {
		if inner, ok := strings.CutPrefix(path, "["); ok {
			key, rest, _ := strings.Cut(inner, "]")
			found, path = append(found, key), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(found, path)
		}
		found = append(found, path[:end])
		path = strings.TrimPrefix(path[end:], ".")
	}
	return found
}
