// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package installation creates the parts of a network provider from its configuration: the ledger's store, the
// listeners, the search for leaks, and the parts for Docker's API. It also validates a configuration. Start
// reading at Installation and Parts.
package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Installation is a configured network provider.
type Installation struct {
	// Config is the configuration after applying the flags.
	Config *configv1alpha1.NetworkProviderConfiguration
	// EachNode states that the node's name comes from the environment, as in a DaemonSet, so that other nodes
	// have such a server too.
	EachNode bool
	// OpenStack counts the calls of OpenStack; nil does not.
	OpenStack *openstack.Metrics
}

// Parts are the parts of a running program.
type Parts struct {
	*Installation
	Log      logr.Logger
	Registry *prometheus.Registry
	Metrics  *server.Metrics
	Store    ledger.Store
	Reloader *reload.Reloader
}

// Reloading returns the options of the reloader that do not depend on a running program.
func (o *Installation) Reloading() reload.Options {
	machine := catalog.Options{CNIConfigurations: o.Config.CNI.Configurations, CNIPlugins: o.Config.CNI.Plugins, OpenStack: o.OpenStack}
	files := shell.Documents(o.Config.Profiles.Paths)
	return reload.Options{
		Read: files.Read, Ignored: files.Ignored,
		Node: o.Config.Node, EachNode: o.EachNode, Shared: o.Config.Ledger.Etcd != nil,
		Cloud:   func(spec policy.CloudSpec) (cloud.Cloud, source.Findings) { return catalog.New(spec, machine) },
		Settle:  catalog.Settle,
		Service: service.Options{Clock: clock.RealClock{}, Random: rand.Float64, Disconnected: serving.CallerGone}, Log: logr.Discard(),
	}
}

// Check validates the configuration, the files that it names, and the profiles. It writes warnings to errOut. It fails
// at the first mistake.
func (o *Installation) Check(ctx context.Context, out, errOut io.Writer) error {
	if err := o.checkMachine(ctx); err != nil {
		return err
	}
	p, warnings, err := reload.Check(o.Reloading())
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintln(errOut, "warning:", warning.Error())
	}
	if err := o.checkLinks(ctx, p); err != nil {
		return err
	}
	join := func(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
	_, err = fmt.Fprintf(out, "ok: pools %s; profiles %s\n", join(slices.Sorted(maps.Keys(p.Pools))), join(p.ProfileNames()))
	return err
}

// Limits returns the configured limits. A request without a free slot is rejected at once, because clients retry.
// Requests of disconnected clients hold at most half of the slots, so that a hanging cloud does not block all of them.
func (o *Installation) Limits() serving.Limits {
	l := o.Config.Limits
	return serving.Limits{
		Connections: int(l.Connections), Streams: int(l.Streams), Requests: int(l.Requests), Behind: int(l.Requests) / 2,
		BodyBytes: int64(l.BodyBytes), BodiesBytes: int64(l.BodiesBytes), BodyTimeout: serving.BodyTimeout,
	}
}

// Delay returns the time for which requests are answered after the shutdown began. It is 0 for Unix sockets, because
// they have no load balancer.
func (o *Installation) Delay() time.Duration {
	isTCP := func(l configv1alpha1.NetworkListener) bool {
		network, _, _ := l.Endpoint()
		return network == "tcp"
	}
	if !slices.ContainsFunc(o.Config.Listeners, isTCP) {
		return 0
	}
	return o.Config.Shutdown.Delay.Duration
}

// Administration returns the path of the administration socket: the configured one, or the one next to the
// ledger's folder. It returns "" if there is none. It fails if the configured address or the folder is invalid.
func (o *Installation) Administration() (string, error) {
	path, err := o.Config.Administration.Socket()
	if err != nil || path != "" || o.Config.Ledger.Etcd != nil {
		return path, err
	}
	if path, err = filepath.Abs(remote.Socket(o.Config.Ledger.Path)); err != nil {
		return "", fmt.Errorf("finding the ledger: %w", err)
	}
	return path, nil
}

// Listeners returns the configured listeners. It fails for an invalid address, mode or owner.
func (o *Installation) Listeners(contracts map[string]server.Contract) ([]server.Listener, error) {
	var all []server.Listener
	for _, l := range o.Config.Listeners {
		opened := server.Listener{
			Insecure: l.Exposed(), Permit: l.Insecure, Certificates: l.Answers(configv1alpha1.ContractDocker), TLS: (*server.TLS)(l.TLS),
		}
		var problems [3]error
		opened.Network, opened.Address, problems[0] = l.Endpoint()
		opened.Mode, problems[1] = l.FileMode()
		opened.UID, opened.GID, problems[2] = l.Owners()
		if err := errors.Join(problems[:]...); err != nil {
			return nil, err
		}
		for _, name := range l.ContractNames() {
			opened.Contracts = append(opened.Contracts, contracts[name])
		}
		all = append(all, opened)
	}
	return all, nil
}

// checkMachine reports files that cannot be loaded and addresses that this machine does not have. It opens
// nothing, so that it can run next to a running server. Each problem starts with its field.
func (o *Installation) checkMachine(ctx context.Context) error {
	var problems []error
	note := func(place string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
	}
	for i, l := range o.Config.Listeners {
		place := fmt.Sprintf("listeners[%d]", i)
		if netw, address, err := l.Endpoint(); err == nil && netw == "tcp" {
			note(place+".address", resolvable(ctx, address))
		}
		note(place+".tls", (*server.TLS)(l.TLS).Check())
	}
	if o.Config.Metrics.Address != "0" {
		note("metrics.address", resolvable(ctx, o.Config.Metrics.Address))
	}
	if o.Config.Ledger.Etcd != nil {
		_, err := etcdTLS(*o.Config.Ledger.Etcd)
		note("ledger.etcd", err)
	}
	if k := o.Config.Kubernetes; k != nil && k.Kubeconfig != "" {
		_, err := kubernetes(k)
		note("kubernetes.kubeconfig", err)
	}
	return errors.Join(problems...)
}

// resolvable checks whether a TCP address can be listened on, as far as possible without doing so.
func resolvable(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return fmt.Errorf("%s is not a port from 0 to 65535", strconv.Quote(port))
	}
	// Port 0 selects a free port, which does not disturb a running server.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("%s is not an address of this machine: %w", strconv.Quote(host), err)
	}
	return listener.Close()
}
