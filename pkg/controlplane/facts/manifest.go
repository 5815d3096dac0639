// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Manifest is a whole resource with spec and status that are decoded on first use. A nil Manifest has neither.
type Manifest struct {
	raw  []byte
	once sync.Once
	tree struct {
		Spec   any `json:"spec"`
		Status any `json:"status"`
	}
	err error
}

// NewManifest keeps the JSON of a resource; the bytes must not change any more.
func NewManifest(raw []byte) *Manifest { return &Manifest{raw: raw} }

// Dropped returns the placeholder for a manifest that is not kept because nothing uses it. Its accessors return an
// error.
func Dropped() *Manifest {
	m := &Manifest{}
	m.once.Do(func() { m.err = expression.Failure("the resource is not kept") })
	return m
}

func (m *Manifest) decode() error {
	m.once.Do(func() {
		if kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &m.tree) != nil {
			m.err = expression.Failure("the resource cannot be decoded")
		}
		m.raw = nil
	})
	return m.err
}

// Status returns the decoded status, nil if there is none, or an error.
func (m *Manifest) Status() any {
	if m == nil {
		return nil
	}
	if err := m.decode(); err != nil {
		return err
	}
	return m.tree.Status
}

// Spec returns the decoded spec, nil if there is none, or an error.
func (m *Manifest) Spec() any {
	if m == nil {
		return nil
	}
	if err := m.decode(); err != nil {
		return err
	}
	return m.tree.Spec
}

// In returns the value at a path below spec, nil if there is none, or an error.
func (m *Manifest) In(path ...string) any {
	value := m.Spec()
	if _, failed := value.(error); failed {
		return value
	}
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}

// inWorker returns the value at a path below a worker, by the worker's index. It returns nil if there is none, or an
// error.
func (s *Shoot) inWorker(i int, path []string) any {
	workers := s.Manifest.In("provider", "workers")
	if _, failed := workers.(error); failed {
		return workers
	}
	all, _ := workers.([]any)
	if i >= len(all) {
		return nil
	}
	value := all[i]
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}
