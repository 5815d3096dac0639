// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/spiderpool"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
)

// contracts returns all supported APIs by name. To add one, write a codec, add an entry here, and add its name
// to the configuration. The timeouts exceed those of the codecs, which know their clients' limits.
func (p *process) contracts() map[string]server.Contract {
	named := func(name string) api.Options {
		return api.Options{
			Service: p.Reloader.Service(), Policy: p.Reloader.Policy, Log: p.Log.WithName(name),
			MaximumBytes: int64(p.Config.Limits.BodyBytes), Node: p.Config.Node,
		}
	}
	all := map[string]server.Contract{
		"dranet": {
			Handler: dranet.New(named("dranet")), Timeout: 30 * time.Second, Endpoint: first("/",
				"health", "GetDeviceAttributes", "GetDeviceConfig", "GetProfileConfig", "ReleaseProfileConfig"),
		},
		"spiderpool": {
			Handler: spiderpool.New(named("spiderpool")), Timeout: 150 * time.Second, Endpoint: spiderpoolEndpoint,
		},
	}
	if p.docker != nil {
		all[docker.Contract] = p.docker.Contract(named(docker.Contract))
	}
	for name, c := range all {
		c.Name, c.MaximumBytes = name, int64(p.Config.Limits.BodyBytes)
		all[name] = c
	}
	return all
}

// first returns a function that returns the endpoint of a path: slash followed by one of the names.
func first(slash string, names ...string) func(string) string {
	return func(path string) string {
		if name, ok := strings.CutPrefix(path, slash); ok && slices.Contains(names, name) {
			return name
		}
		return ""
	}
}

// spiderpoolEndpoint returns the endpoint of a Spiderpool path. Clients may put the path of their base URL in
// front.
func spiderpoolEndpoint(path string) string {
	if _, rest, ok := strings.Cut(path, "/v1/apis/network.iaas.io/"); ok {
		for _, name := range []string{"ipam/allocate-ips", "ipam/release-ip", "status/ips-cache"} {
			if strings.HasPrefix(rest, name) {
				return name[strings.Index(name, "/")+1:]
			}
		}
		return ""
	}
	return first("/", "healthz")(path)
}

// allListeners returns the configured listeners and the administration socket.
func (p *process) allListeners() ([]server.Listener, error) {
	listeners, err := p.Listeners(p.contracts())
	if err != nil {
		return nil, err
	}
	path, err := p.Administration()
	if err != nil || path == "" {
		return listeners, err
	}
	return append(listeners, server.Listener{Network: "unix", Address: path, Mode: 0o600, UID: -1, GID: -1, Contracts: []server.Contract{{
		Name: "administration", Always: true, Endpoint: first("/v2/", "rows", "release", "gc"),
		Handler: remote.New(remote.Options{Store: p.Store, Release: p.Reloader.Service().Release, GC: p.leaks.Sweep}),
	}}}), nil
}
