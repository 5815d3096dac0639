// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command network shows what graft-network-provider does: it runs the program on a socket with an example, plays DRANET's calls to it with
// curl, kills and starts it again, and says of each step whether it went as it should. `make start-network` builds what it needs and
// runs it; with ONCE=1 it ends then, with status 1 if something is not as it should be.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at show; what is asked is in steps.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// profile is the one that is served where no other is named.
const profile = "example/network/acme.yaml"

// local is before the paths of requests at the program's socket, which is known by no name.
const local = "http://localhost"

func main() { console.Main("network", "bin/graft-network-provider", profile, show) }

// show runs everything in a folder that is gone at the end.
func show(ctx context.Context, o console.Provider, t *console.Terminal) (err error) {
	folder, err := os.MkdirTemp("", "graft-network-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := newServer(o, folder)
	defer s.Stop()
	if err := s.start(ctx, t, "graft-network-provider, until it answers"); err != nil {
		return err
	}
	caller, how := console.Caller{Socket: s.socket()}.WithCurl()
	t.Line("\nDRANET's calls. %s", how)
	for _, step := range steps() {
		if err := step.do(ctx, s, caller, t); err != nil {
			return err
		}
	}
	t.Line("\n%s Everything went as it should.", t.Paint("1;32", "OK"))
	if o.Once {
		return nil
	}
	t.Line("\nIt stays up until Ctrl-C. Ask it yourself, or change %s and see what it says in %s:\n\n    %s\n    %s ledger inspect %s\n\n%s",
		o.Profile, s.Log, caller.Command(local+"/health", ""), o.Graft, s.ledger(), t.Dim("Everything is in "+folder+", which is removed at the end."))
	select {
	case <-ctx.Done():
		t.Line("\nStopping the program.")
		return nil
	case <-s.Exited():
		return s.Ended()
	}
}
