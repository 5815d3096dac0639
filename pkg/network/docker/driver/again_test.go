// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestRestartedContainerGetsItsAddress checks that a restarted container gets its named address during the quarantine, for a new endpoint
// of the same network.
func TestRestartedContainerGetsItsAddress(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.service.Configure(map[string]service.Pool{"overlay": {Quarantine: time.Minute}}, nil)
	w.create(bare("net", "profile=acme.com/bridged"))
	asked := func(of, id string) driver.Endpoint {
		return driver.Endpoint{Network: of, ID: id, Options: mapOf("address=10.64.2.3")}
	}
	first := w.attach(asked("net", "one"))
	w.must(w.DeleteEndpoint(ctx, "net", "one"))
	again := w.attach(asked("net", "two"))
	w.same("MAC address", []string{first.MAC.String()}, []string{again.MAC.String()})
	w.must(w.DeleteEndpoint(ctx, "net", "two"))

	w.must(w.DeleteNetwork(ctx, "net"))
	w.create(bare("other", "profile=acme.com/bridged"))
	_, err := w.CreateEndpoint(ctx, asked("other", "one"))
	w.fails(err, network.ErrTaken, "10.64.2.3, which is in quarantine until 2001-09-09T01:47:40Z after its release")
}
