// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package objects makes decoded objects for lookups in tests.
package objects

import "encoding/base64"

// Of returns Secrets and ConfigMaps with these data, by their names. It encodes the values of Secrets in base64.
func Of(secrets, configMaps map[string]map[string]string) []map[string]any {
	var all []map[string]any
	add := func(kind string, data map[string]map[string]string, encode func(string) string) {
		for name, values := range data {
			members := map[string]any{}
			for key, value := range values {
				members[key] = encode(value)
			}
			all = append(all, map[string]any{
				"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}, "data": members,
			})
		}
	}
	add("Secret", secrets, func(value string) string { return base64.StdEncoding.EncodeToString([]byte(value)) })
	add("ConfigMap", configMaps, func(value string) string { return value })
	return all
}
