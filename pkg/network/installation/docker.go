// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
)

// Docker has the parts for Docker's API in addition to the ledger, such as this machine's kernel. It exists
// only if a listener serves that API.
type Docker struct {
	// Driver has the networks.
	*driver.Driver
	config  configv1alpha1.Docker
	log     logr.Logger
	kernel  *link.Kernel
	metrics *dockerMetrics
	leases  *ipam.Driver
}

// NewDocker opens the kernel and logs kinds of networks that the kernel does not support. It returns nil if no listener
// serves Docker's API. It fails if another server manages the network namespace.
func (p *Parts) NewDocker(ctx context.Context) (*Docker, error) {
	if !p.Config.AnswersDocker() {
		return nil, nil //nolint:nilnil // nil means that no listener serves the API
	}
	d := &Docker{config: p.Config.Docker, log: p.Log.WithName("docker")}
	d.metrics = newDockerMetrics(p.Registry)
	var err error
	if d.kernel, err = link.Open(d.config.KernelTimeout.Duration); err != nil {
		return nil, fmt.Errorf("opening the kernel for Docker: %w", err)
	}
	if err := d.kernel.Own(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the kernel for Docker: %w", err), d.kernel.Close())
	}
	missing := d.kernel.Probe(ctx)
	for _, kind := range link.Kinds() {
		if err := missing[kind]; err != nil {
			d.log.Info("This machine does not support a kind of networks", "kind", kind, "reason", err.Error())
		}
	}
	if families := filteredFamilies("/proc/sys/net/bridge"); len(families) > 0 {
		d.log.Info("Packets between containers on one bridge pass the machine's FORWARD chain and are lost if its policy is DROP, which dockerd sets; "+
			"see docs/usage/docker.md, \"Packet filters\", for the rule that accepts them", "families", families)
	}
	report := func(err error) {
		p.Metrics.FailedInBackground()
		d.log.Error(err, "Background work for Docker failed")
	}
	d.leases = ipam.New(ipam.Options{
		Service: p.Reloader.Service(), Policy: p.Reloader.Policy, Store: p.Store, Clock: clock.RealClock{}, Node: p.Config.Node,
		Grace: d.config.Sweep.Grace.Duration, Report: report,
		Freed: func(a network.Allocation) {
			d.log.Info("Released an unused address", "owner", a.Owner.String(), "pool", a.Pool, "addresses", a.Addresses)
		},
		Knows: func(ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool, err error) {
			return d.Driver.HasNetwork(ctx, network, space, subnet, address)
		},
	})
	d.Driver = driver.New(driver.Options{
		Policy: p.Reloader.Policy, Leases: d.leases, Store: p.Store, Clock: clock.RealClock{}, Node: p.Config.Node,
		Kernel: d.kernel, Patience: 2 * d.config.KernelTimeout.Duration, Boot: boot(), Lives: mayExist,
		Grace: d.config.Sweep.Grace.Duration, Period: d.config.Sweep.Period.Duration, Report: report,
		Removed: func(kind, name string) {
			d.metrics.removed.WithLabelValues(kind).Inc()
			d.log.Info("Removed an unused object", "kind", kind, "name", name)
		},
	})
	return d, nil
}

// Close closes the kernel. It fails if the network namespace cannot be closed.
func (d *Docker) Close() error { return d.kernel.Close() }

// Contract returns the codec.
func (d *Docker) Contract(w wire.Options) server.Contract {
	handler := docker.New(docker.Options{
		Options: w, Networks: d.Driver, Leases: d.leases, Scope: d.config.Scope, Connectivity: d.config.Connectivity,
		Failed: d.metrics.failed,
	})
	return server.Contract{Handler: handler, Refuse: docker.Refuse, Endpoint: docker.Endpoint, Timeout: docker.Patience + 5*time.Second}
}

// filteredFamilies returns the address families with bridged frames that pass the packet filters of the machine
// (br_netfilter). folder is /proc/sys/net/bridge.
func filteredFamilies(folder string) []string {
	var families []string
	for _, filter := range [][2]string{{"bridge-nf-call-iptables", "IPv4"}, {"bridge-nf-call-ip6tables", "IPv6"}} {
		if text, err := os.ReadFile(filepath.Join(folder, filter[0])); err == nil && strings.TrimSpace(string(text)) != "0" {
			families = append(families, filter[1])
		}
	}
	return families
}

// boot identifies the lifetime of this machine's links: the boot, and the network namespace of the program. It
// returns "" if it is unknown.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, other := os.Readlink("/proc/self/ns/net")
	if err != nil || other != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + " " + namespace
}

// mayExist reports whether a sandbox may still exist. Only a missing file in an existing folder proves that it
// does not; in a container, the folder may be invisible.
func mayExist(sandbox string) bool {
	if _, err := os.Stat(sandbox); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	_, err := os.Stat(filepath.Dir(sandbox))
	return err != nil
}

// checkLinks reports profiles with links that this kernel does not support. It does nothing if no listener
// serves Docker's API.
func (o *Installation) checkLinks(ctx context.Context, p *policy.Policy) error {
	if !o.Config.AnswersDocker() {
		return nil
	}
	kernel, err := link.Open(o.Config.Docker.KernelTimeout.Duration)
	if err != nil {
		return fmt.Errorf("opening the kernel for Docker: %w", err)
	}
	missing := kernel.Probe(ctx)
	problems := []error{kernel.Close()}
	for _, name := range p.ProfileNames() {
		if l := p.Profile(name).Link; l != nil && missing[l.Kind] != nil {
			problems = append(problems, fmt.Errorf("profiles.%s.link.kind: %w", name, missing[l.Kind]))
		}
	}
	return errors.Join(problems...)
}

// dockerMetrics count error answers to Docker and removed objects.
type dockerMetrics struct {
	errors  *prometheus.CounterVec
	removed *prometheus.CounterVec
}

func newDockerMetrics(registry prometheus.Registerer) *dockerMetrics {
	auto := promauto.With(registry)
	m := &dockerMetrics{
		errors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_errors_total",
			Help: "Error answers to Docker (field Err, mostly with status 200), by fault: caller or server.",
		}, []string{"endpoint", "fault"}),
		removed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_docker_stale_removed_total",
			Help: "Unused objects that were removed, by kind: network, endpoint or link.",
		}, []string{"kind"}),
	}
	for _, what := range []string{"network", "endpoint", "link"} {
		m.removed.WithLabelValues(what)
	}
	return m
}

// failed counts an error answer.
func (m *dockerMetrics) failed(method string, ours bool) {
	fault := "caller"
	if ours {
		fault = "server"
	}
	m.errors.WithLabelValues(cmp.Or(method, "other"), fault).Inc()
}
