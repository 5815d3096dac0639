// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import "sync"

// Part is a resource inside a Cluster that is decoded when it is first asked for, as most rules name no more than the shoot. A nil
// Part is one that is not known.
type Part[T any] struct {
	once   sync.Once
	decode func() (*T, error)
	value  *T
	err    error
}

// Lazy is a part that decode gives; a nil result means that it is not there.
func Lazy[T any](decode func() (*T, error)) *Part[T] { return &Part[T]{decode: decode} }

// Get is the resource, nil when it is not known. The error wraps ErrUndecodable.
func (p *Part[T]) Get() (*T, error) {
	if p == nil {
		return nil, nil
	}
	p.once.Do(func() {
		if p.decode != nil {
			p.value, p.err = p.decode()
			p.decode = nil
		}
	})
	return p.value, p.err
}
