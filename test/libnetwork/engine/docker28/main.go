// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command docker28 is the controller of Docker Engine 28, with Docker's own drivers beside remote ones, and without
// packet filters. Package engine starts it. It must do nothing that the other versions cannot. Enter at main.
package main

import (
	"context"

	"github.com/docker/docker/libnetwork"
	"github.com/docker/docker/libnetwork/config"
	"github.com/docker/docker/libnetwork/ipamutils"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

func main() { engine.Serve(open) }

// open makes a controller.
func open(ctx context.Context, s engine.Settings) (engine.Controller, error) {
	active := map[string]any{}
	for _, id := range s.Active {
		active[id] = sandboxOptions(s.Run, id)
	}
	inner, err := libnetwork.New(ctx, config.OptionDataDir(s.Data), config.OptionExecRoot(s.Run),
		config.OptionActiveSandboxes(active),
		config.OptionDefaultAddressPoolConfig(ipamutils.GetLocalScopeDefaultNetworks()))
	if err != nil {
		return nil, err
	}
	return &controller{inner: inner, settings: s, directory: &directory{}}, nil
}
