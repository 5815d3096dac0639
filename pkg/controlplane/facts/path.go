// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// Path is a field of an object as people write it: status.nodesCIDR, metadata.annotations["a.b/c"],
// status.networks.subnets[purpose=nodes].id, spec.zones[0].
type Path string

// ParsePath checks a path; the error says what is wrong with it.
func ParsePath(text string) (Path, error) {
	_, err := fieldpath.Parse(text)
	return Path(text), err
}

// In is the value at the path in an object; false when there is none, or it is null.
func (p Path) In(object any) (any, bool) {
	steps, err := fieldpath.Parse(string(p))
	if err != nil {
		return nil, false
	}
	value := object
	for _, s := range steps {
		if value = follow(value, s); value == nil {
			return nil, false
		}
	}
	return value, true
}

func follow(value any, s fieldpath.Step) any {
	if s.By == "" && !s.Position {
		members, _ := value.(map[string]any)
		return members[s.Key]
	}
	items, _ := value.([]any)
	if s.Position {
		if i, err := strconv.Atoi(s.Key); err == nil && i < len(items) {
			return items[i]
		}
		return nil
	}
	for _, item := range items {
		members, _ := item.(map[string]any)
		if text, ok := scalar(members[s.By]); ok && text == s.Key {
			return item
		}
	}
	return nil
}

// scalar is the text by which an item of a list is found: 443 and "443" are the same.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool, int64, float64, json.Number:
		return fmt.Sprint(value), true
	default:
		return "", false
	}
}
