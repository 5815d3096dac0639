// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Selection is what is read of an object and kept; nothing else of it is.
type Selection struct {
	// Keys are keys of the data of a Secret or ConfigMap.
	Keys []string
	// Paths are fields.
	Paths []Path
	// Labels and Annotations are keys of those.
	Labels, Annotations []string
	// Checksum is the SHA-256 of the data of a Secret or ConfigMap.
	Checksum bool
}

// Join is what either selection keeps, sorted.
func (s Selection) Join(t Selection) Selection {
	return Selection{
		Keys: union(s.Keys, t.Keys), Paths: union(s.Paths, t.Paths),
		Labels: union(s.Labels, t.Labels), Annotations: union(s.Annotations, t.Annotations), Checksum: s.Checksum || t.Checksum,
	}
}

// Covers says whether what the selection keeps is enough for another.
func (s Selection) Covers(t Selection) bool {
	return contains(s.Keys, t.Keys) && contains(s.Paths, t.Paths) && contains(s.Labels, t.Labels) && contains(s.Annotations, t.Annotations) &&
		(s.Checksum || !t.Checksum)
}

func contains[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(one T) bool { return !slices.Contains(all, one) })
}

func union[T cmp.Ordered](a, b []T) []T {
	if len(a)+len(b) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// Of keeps what the selection names of an object as JSON decodes it. The values of keys are decoded where the object is a
// Secret; the error holds none.
func (s Selection) Of(object map[string]any) (*Found, error) {
	metadata, _ := object["metadata"].(map[string]any)
	found := &Found{
		Labels:      keep(stringsOf(metadata["labels"]), s.Labels),
		Annotations: keep(stringsOf(metadata["annotations"]), s.Annotations),
	}
	for _, path := range s.Paths {
		if value, ok := path.In(object); ok {
			if found.Fields == nil {
				found.Fields = make(map[string]any, len(s.Paths))
			}
			found.Fields[string(path)] = value
		}
	}
	data := stringsOf(object["data"])
	if s.Checksum {
		found.Checksum = checksum(data)
	}
	found.Keys = keep(data, s.Keys)
	if object["kind"] != Secret.Kind || object["apiVersion"] != Secret.Version {
		return found, nil
	}
	for key, value := range found.Keys {
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("the key %s is no base64: %w", key, ErrUndecodable)
		}
		found.Keys[key] = string(decoded)
	}
	return found, nil
}

// checksum is utils.ComputeChecksum of Gardener for the data of a ConfigMap, or of a Secret in base64.
func checksum(data map[string]string) string {
	raw, _ := json.Marshal(data) // strings can always be encoded
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// keep is a map of the named entries that are there; nil when there are none.
func keep[V any](all map[string]V, names []string) map[string]V {
	var kept map[string]V
	for _, name := range names {
		value, ok := all[name]
		if !ok {
			continue
		}
		if kept == nil {
			kept = map[string]V{}
		}
		kept[name] = value
	}
	return kept
}

// stringsOf are the strings in a JSON object; nil for what is none.
func stringsOf(value any) map[string]string {
	members, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	result := make(map[string]string, len(members))
	for key, member := range members {
		if text, ok := member.(string); ok {
			result[key] = text
		}
	}
	return result
}
