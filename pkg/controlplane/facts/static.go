// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"encoding/base64"
	"fmt"
)

// Static is a Source of what is known beforehand, for previews from files and for tests.
type Static struct {
	// Facts are those of every namespace; nil means that there are none.
	Facts *Facts
	// Secrets and ConfigMaps are the decoded data by object name.
	Secrets, ConfigMaps map[string]map[string]string
	// Objects are whole objects, of any kind, as JSON decodes them. Those that have a namespace must be in the one that is asked for.
	Objects []map[string]any
}

var _ Source = (*Static)(nil)

// Read implements Source.
func (s *Static) Read(_ context.Context, namespace string) (*Facts, error) {
	if s.Facts == nil {
		return nil, fmt.Errorf("reading facts of the namespace %s: %w", namespace, ErrNotFound)
	}
	return s.Facts, nil
}

// Lookup implements Source.
func (s *Static) Lookup(_ context.Context, namespace string, l LookupRequest) (*Found, error) {
	for _, object := range s.Objects {
		if l.names(object, namespace) {
			return l.Read(object)
		}
	}
	var data map[string]string
	ok := false
	switch l.GroupVersionKind {
	case Secret:
		data, ok = s.Secrets[l.ObjectName]
	case ConfigMap:
		data, ok = s.ConfigMaps[l.ObjectName]
	}
	if !ok {
		return nil, l.Missing()
	}
	found := &Found{Keys: data}
	if l.Checksum {
		found.Checksum = l.checksum(data)
	}
	return l.Pick(found)
}

// names says whether the request for a control plane in the namespace is for this object.
func (l LookupRequest) names(object map[string]any, namespace string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	in, _ := metadata["namespace"].(string)
	return object["apiVersion"] == l.GroupVersion().String() && object["kind"] == l.Kind && metadata["name"] == l.ObjectName &&
		(in == "" || in == l.In(namespace))
}

// checksum is that of decoded data.
func (l LookupRequest) checksum(data map[string]string) string {
	if l.GroupVersionKind == ConfigMap {
		return checksum(data)
	}
	encoded := make(map[string]string, len(data))
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return checksum(encoded)
}
