// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrValue means that what an expression gave cannot stand in its place.
var ErrValue = errors.New("value not possible here")

// shapeOf gives values the form in which the API server stores them: without zero values that it drops and nulls, and with
// quantities in their canonical spelling. Otherwise the same rule would write them again at each update. What is no T is an
// error, also a field that T does not have.
func shapeOf[T any](raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var typed T
	if err := decoder.Decode(&typed); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrValue, strings.TrimPrefix(err.Error(), "json: "))
	}
	stored, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var written, canonical any
	if err := errors.Join(decode(raw, &written), decode(stored, &canonical)); err != nil {
		return nil, err
	}
	return json.Marshal(common(written, canonical))
}

func decode(raw []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// common is the canonical value without the members that were not written.
func common(written, canonical any) any {
	switch canonical := canonical.(type) {
	case map[string]any:
		members, ok := written.(map[string]any)
		if !ok {
			return canonical
		}
		for key, value := range canonical {
			member, ok := members[key]
			if !ok || member == nil {
				delete(canonical, key)
				continue
			}
			canonical[key] = common(member, value)
		}
	case []any:
		items, ok := written.([]any)
		if !ok || len(items) != len(canonical) {
			return canonical
		}
		for i := range canonical {
			canonical[i] = common(items[i], canonical[i])
		}
	}
	return canonical
}

// shaped is a structured value that is given a shape: at once when it is constant, which is then checked, or when it is computed.
func (v Value) shaped(shape func([]byte) ([]byte, error), n source.Node, path string) (Value, source.Findings) {
	if v.constant == nil {
		v.shape = shape
		return v, nil
	}
	raw, err := shape(v.constant.JSON)
	if err != nil {
		return v, source.FindingsOf(n, path, err).Of(WrongShape)
	}
	v.constant = &Resolved{JSON: raw}
	return v, nil
}
