// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// lister is a cloud with two orphans. It removes only the first.
type lister struct {
	cloud.Cloud
	err error
}

func (l lister) Orphans(_ context.Context, _ cloud.Allocations, remove bool) ([]cloud.Orphan, error) {
	return []cloud.Orphan{{ID: "a", Removed: remove}, {ID: "b"}}, l.err
}

// TestOrphans checks that the search calls the clouds that can list their bindings, and counts the results.
func TestOrphans(t *testing.T) {
	config := &configv1alpha1.NetworkProviderConfiguration{Leaks: configv1alpha1.Leaks{Mode: "free"}}
	l := &Leaks{parts: &Parts{Installation: &Installation{Config: config}}, log: logr.Discard(), metrics: newLeakMetrics(prometheus.NewRegistry())}
	l.searchCloud(t.Context(), "neutron", lister{})
	l.searchCloud(t.Context(), "neutron", lister{err: errors.New("one could not be removed")})
	for name, got := range map[string]float64{
		"found": testutil.ToFloat64(l.metrics.orphans.WithLabelValues("neutron")) - 1, "failures": testutil.ToFloat64(l.metrics.failures) - 1,
		"removed": testutil.ToFloat64(l.metrics.orphansRemoved.WithLabelValues("neutron")) - 2,
	} {
		if got != 0 {
			t.Errorf("%s: %v too many", name, got)
		}
	}
}

// TestOrphansOfOneNode checks that a server with the ledger of one node does not search.
func TestOrphansOfOneNode(t *testing.T) {
	p := &Parts{Installation: &Installation{Config: &configv1alpha1.NetworkProviderConfiguration{}, EachNode: true}}
	if p.hasAllAllocations() {
		t.Error("bindings of other nodes would be removed")
	}
}
