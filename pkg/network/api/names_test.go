// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
)

func TestNames(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	for kind, of := range map[string]struct {
		check func(string) error
		good  []string
		bad   []string
	}{
		"names of objects":    {api.CheckName, []string{"", "a", "web-0", "ip-10-0-0-1.eu.example.com", long(253)}, []string{"A", "a/b", "a;b", "-a", "a_b", "a\x1b", "a\n", " a", long(254)}},
		"names of namespaces": {api.CheckNamespace, []string{"", "kube-system", long(63)}, []string{"x;K8S_POD_NAME=evil", "a.b", "A", "a/b", "a\n", long(64)}},
		"UIDs of objects": {api.CheckUID, []string{"", "c1", "9f8b7c6d-0000-4000-8000-000000000001", "0123456789abcdef0123456789abcdef", long(128)},
			[]string{"a/b", "a b", "a;b", "a\n", "ä", "-", long(129)}},
	} {
		for _, text := range of.good {
			if err := of.check(text); err != nil {
				t.Errorf("%s %q: %v", kind, text, err)
			}
		}
		for _, text := range of.bad {
			if err := of.check(text); err == nil || len(text) > 4 && strings.Contains(err.Error(), text) {
				t.Errorf("%s %q is let pass, or repeated: %v", kind, text, err)
			}
		}
	}
}
