// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
)

// Static is a Source of what is known beforehand, for previews from files and for tests.
type Static struct {
	// Facts are those of every namespace; nil means that there are none.
	Facts *Facts
	// Secrets and ConfigMaps are the decoded data by object name.
	Secrets, ConfigMaps map[string]map[string]string
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
func (s *Static) Lookup(_ context.Context, _ string, l LookupRequest) (map[string]string, error) {
	objects := s.Secrets
	if l.Kind == KindConfigMap {
		objects = s.ConfigMaps
	}
	data, ok := objects[l.ObjectName]
	switch {
	case !ok && l.Optional:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("looking up %s: reading the %s %s: %w", l.Name, l.Kind, l.ObjectName, ErrNotFound)
	}
	return l.Select(func(key string) (string, bool) { value, ok := data[key]; return value, ok })
}
