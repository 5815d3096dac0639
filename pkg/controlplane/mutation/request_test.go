// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestRegistrationHasRulesForObject checks for which objects a webhook has rules, by name, by prefix, or for any name.
func TestRegistrationHasRulesForObject(t *testing.T) {
	r := mutation.Registration{Forms: []target.Form{
		{Group: "apps", Kind: "Deployment", Name: "kube-apiserver"}, {Kind: "ConfigMap", Name: "acme-*"}, {Kind: "Secret"},
	}}
	for _, test := range []struct {
		group, kind, name string
		want              bool
	}{
		{"apps", "Deployment", "kube-apiserver", true},
		{"", "Deployment", "kube-apiserver", false},
		{"apps", "Deployment", "kube-apiserver-2", false},
		{"", "ConfigMap", "acme-1", true},
		{"", "ConfigMap", "acme-", true},
		{"", "ConfigMap", "acme", false},
		{"apps", "ConfigMap", "acme-1", false},
		{"", "Secret", "any", true},
	} {
		if got := r.Has(test.group, test.kind, test.name); got != test.want {
			t.Errorf("%s %s %s: %t", test.group, test.kind, test.name, got)
		}
	}
}
