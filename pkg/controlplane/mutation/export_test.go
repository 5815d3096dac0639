// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"reflect"
	"unsafe"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/textcache"
)

// Forget makes the program remember nothing.
func (p *Program) Forget() { p.cache = textcache.New() }

// Remembered is how many outcomes the program remembers, and about how many bytes they take.
func (p *Program) Remembered() (entries, bytes int) { return p.cache.Size() }

// Measured returns how many bytes the keys and effects of the cache take. It follows their memory and does not use the
// cache's own count.
func (p *Program) Measured() int {
	cache, seen := reflect.ValueOf(p.cache).Elem(), map[unsafe.Pointer]bool{}
	return reachable(cache.FieldByName("effects"), seen) + reachable(cache.FieldByName("order"), seen)
}

// reachable returns the bytes that a value refers to, each piece of memory once, without the value itself.
func reachable(v reflect.Value, seen map[unsafe.Pointer]bool) (bytes int) {
	first := func(at unsafe.Pointer) bool {
		before := seen[at]
		seen[at] = true
		return at != nil && !before
	}
	switch v.Kind() {
	case reflect.String:
		if first(unsafe.Pointer(unsafe.StringData(v.String()))) {
			bytes = v.Len()
		}
	case reflect.Slice:
		if first(v.UnsafePointer()) {
			bytes = v.Len() * int(v.Type().Elem().Size())
			for i := range v.Len() {
				bytes += reachable(v.Index(i), seen)
			}
		}
	case reflect.Pointer:
		if first(v.UnsafePointer()) {
			bytes = int(v.Type().Elem().Size()) + reachable(v.Elem(), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += reachable(v.Field(i), seen)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			bytes += int(v.Type().Key().Size()+v.Type().Elem().Size()) +
				reachable(entries.Key(), seen) + reachable(entries.Value(), seen)
		}
	}
	return bytes
}
