// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// answering is a kernel that answers everything with one error.
type answering struct{ err error }

func (k answering) EnsureSegment(context.Context, link.Segment) error           { return k.err }
func (k answering) RemoveSegment(context.Context, link.Segment) error           { return k.err }
func (k answering) RepairPort(context.Context, link.Segment, link.Marked) error { return k.err }

func (k answering) RemovePort(context.Context, link.Segment, string) error { return k.err }
func (k answering) Marked(context.Context) ([]link.Marked, error)          { return nil, k.err }
func (k answering) Remove(context.Context, link.Marked) error              { return k.err }
func (k answering) EnsurePort(_ context.Context, _ link.Segment, p link.Port) (link.Port, error) {
	return p, k.err
}

func (k answering) SetPeers(context.Context, link.Segment, []netip.Addr) error { return k.err }

// TestKernelCalls holds that each call is counted by what came of it, and that what is no kind makes no new label.
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
	} {
		k, s := counted{answering{test.err}, metrics}, link.Segment{Spec: link.Spec{Kind: test.kind}}
		_, ported := k.EnsurePort(t.Context(), s, link.Port{})
		_, listed := k.Marked(t.Context())
		for _, err := range []error{
			k.EnsureSegment(t.Context(), s), k.RemoveSegment(t.Context(), s), ported, k.RemovePort(t.Context(), s, "e"),
			k.SetPeers(t.Context(), s, nil), listed, k.Remove(t.Context(), link.Marked{}),
		} {
			if !errors.Is(err, test.err) {
				t.Errorf("%v, want %v", err, test.err)
			}
		}
	}
	got := gathered(t, metrics.calls)
	for _, name := range []string{
		"graft_network_kernel_calls_total ensure-segment bridge done", "graft_network_kernel_calls_total remove-segment ipvlan impossible",
		"graft_network_kernel_calls_total ensure-port bridge unavailable", "graft_network_kernel_calls_total remove-port vxlan unavailable",
		"graft_network_kernel_calls_total set-peers other failed", "graft_network_kernel_calls_total list  done",
		"graft_network_kernel_calls_total remove  failed",
	} {
		if got[name] != 1 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if len(got) != 5*5+2*4 {
		t.Errorf("there are %d series", len(got))
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

// TestDockerCollector holds what is told of networks, and that nothing is told where the rows cannot be read.
func TestDockerCollector(t *testing.T) {
	usage := driver.Usage{Networks: 2, Endpoints: 5, Joined: 3, Removed: driver.RemovedCount{Networks: 1, Endpoints: 4, Links: 7}}
	c := dockerCollector{func(context.Context) (driver.Usage, error) { return usage, nil }}
	want := map[string]float64{
		"graft_network_docker_networks": 2, "graft_network_docker_endpoints free": 2, "graft_network_docker_endpoints joined": 3,
		"graft_network_docker_stale_removed_total network": 1, "graft_network_docker_stale_removed_total endpoint": 4,
		"graft_network_docker_stale_removed_total link": 7,
	}
	if diff := cmp.Diff(want, gathered(t, c)); diff != "" {
		t.Error(diff)
	}
	broken := dockerCollector{func(context.Context) (driver.Usage, error) { return usage, network.ErrUnavailable }}
	if got := gathered(t, broken); len(got) != 0 {
		t.Errorf("told is %v", got)
	}
}

// TestLives holds that only a sandbox of which the file is gone is gone, and that the machine's start has a name that stays.
func TestLives(t *testing.T) {
	if folder := t.TempDir(); !lives(folder) || lives(filepath.Join(folder, "none")) {
		t.Error("a sandbox is there where its file is")
	}
	if !lives(string([]byte{0})) {
		t.Error("where it cannot be looked, a sandbox may be there")
	}
	if first := boot(); first != boot() {
		t.Error("the start of the machine is called by two names")
	}
}

// TestNoDocker holds that nothing of the kernel is touched where no listener names the contract.
func TestNoDocker(t *testing.T) {
	p := &Parts{Installation: &Installation{Config: &configv1alpha1.NetworkProviderConfiguration{
		Listeners: []configv1alpha1.NetworkListener{{Address: "unix:///x"}},
	}}}
	d, err := p.NewDocker(t.Context())
	if d != nil || err != nil || d.Close() != nil || p.checkLinks(t.Context(), nil) != nil {
		t.Errorf("%v, %v", d, err)
	}
	d.Run(t.Context())
}
