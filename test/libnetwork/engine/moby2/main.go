// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command moby2 is the controller of Docker Engine 29 and later, with Docker's own drivers beside remote ones, and
// without packet filters. Package engine starts it. It must do nothing that the other versions cannot. Enter at main.
package main

//go:generate ./generate.sh

import (
	"context"

	"github.com/moby/moby/v2/daemon/libnetwork"
	"github.com/moby/moby/v2/daemon/libnetwork/config"
	"github.com/moby/moby/v2/daemon/libnetwork/ipamutils"

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
