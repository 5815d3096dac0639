// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// TestKernelCalls checks that each call is counted by its result, and that unknown kinds add no label.
func TestKernelCalls(t *testing.T) {
	metrics := newDockerMetrics(prometheus.NewRegistry())
	for _, test := range []struct {
		err  error
		kind link.Kind
	}{
		{nil, link.Bridge},
		{fmt.Errorf("making it: %w", link.ErrImpossible), link.Ipvlan},
		{fmt.Errorf("making it: %w", network.ErrUnavailable), link.Bridge},
		{context.DeadlineExceeded, link.VXLAN},
		{errors.New("another"), "bond"},
		{nil, ""},
	} {
		metrics.observe("call", test.kind, time.Second, test.err)
	}
	want := map[string]float64{
		"graft_network_kernel_calls_total call bridge done": 1, "graft_network_kernel_calls_total call ipvlan impossible": 1,
		"graft_network_kernel_calls_total call bridge unavailable": 1, "graft_network_kernel_calls_total call vxlan unavailable": 1,
		"graft_network_kernel_calls_total call other failed": 1, "graft_network_kernel_calls_total call  done": 1,
	}
	if diff := cmp.Diff(want, gathered(t, metrics.calls)); diff != "" {
		t.Error(diff)
	}
}

// gathered are the values of a collector's series by their names and labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			all[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return all
}

// TestDockerCollector checks the metrics of networks, and that there are none if the rows cannot be read.
func TestDockerCollector(t *testing.T) {
	usage := driver.Usage{Networks: 2, Endpoints: 5, Joined: 3}
	c := dockerCollector{func(context.Context) (driver.Usage, error) { return usage, nil }}
	want := map[string]float64{
		"graft_network_docker_networks": 2, "graft_network_docker_endpoints free": 2, "graft_network_docker_endpoints joined": 3,
	}
	if diff := cmp.Diff(want, gathered(t, c)); diff != "" {
		t.Error(diff)
	}
	broken := dockerCollector{func(context.Context) (driver.Usage, error) { return usage, network.ErrUnavailable }}
	if got := gathered(t, broken); len(got) != 0 {
		t.Errorf("want no metrics, got %v", got)
	}
}

// TestSandboxLives checks that a sandbox counts as removed only if its file is missing, and that the identifier of the
// machine's boot is stable.
func TestSandboxLives(t *testing.T) {
	if folder := t.TempDir(); !mayExist(folder) || mayExist(filepath.Join(folder, "none")) {
		t.Error("the sandbox with an existing file is reported as gone")
	}
	if !mayExist(string([]byte{0})) {
		t.Error("an unreadable sandbox is reported as gone, want it to be kept")
	}
	if first := boot(); first != boot() {
		t.Error("the start of the machine is called by two names")
	}
}

// TestNoDocker checks that the kernel is not used if no listener names the contract.
func TestNoDocker(t *testing.T) {
	p := &Parts{Installation: &Installation{Config: &configv1alpha1.NetworkProviderConfiguration{
		Listeners: []configv1alpha1.NetworkListener{{Address: "unix:///x"}},
	}}}
	d, err := p.NewDocker(t.Context())
	if d != nil || err != nil || p.checkLinks(t.Context(), nil) != nil {
		t.Errorf("%v, %v", d, err)
	}
}
