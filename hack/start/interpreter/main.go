// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command interpreter shows what graft-resource-interpreter does: it runs the program with a certificate of its own, asks it over TLS what Karmada asks about
// a Worker, an Etcd and a kind that only a profile knows, and holds that each answer is as it should be. `make start-interpreter` builds what it needs
// and runs it; with ONCE=1 it ends then, with status 1 if something is not as it should be.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at show; what is asked is in subjects.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

const (
	program = "bin/graft-resource-interpreter"
	// served is the profile that is in force, beside those of Gardener's kinds.
	served = "example/interpreter/profile.yaml"
)

func main() { console.Main("interpreter", program, served, show) }

// show runs everything in a folder that is gone at the end.
func show(ctx context.Context, o console.Provider, t *console.Terminal) (err error) {
	folder, err := os.MkdirTemp("", "graft-interpreter-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := newServer(o, folder)
	defer s.Stop()
	if err := s.start(ctx, t); err != nil {
		return err
	}
	karmada, err := register(ctx, s, t)
	if err != nil {
		return err
	}
	for _, subject := range subjects() {
		if err := subject.show(ctx, karmada, t); err != nil {
			return err
		}
	}
	if err := mistake(ctx, s, t); err != nil {
		return err
	}
	t.Line("\n%s Every answer is as it should be.", t.Paint("1;32", "OK"))
	if o.Once {
		return nil
	}
	t.Line(`
It stays up until Ctrl-C. Ask it yourself, or change %s and ask again:

    %s interpret example/interpreter/objects/database.yaml --url %s --ca %s
    %s interpret %s --configuration %s --operation health
    %s explain interpret example/interpreter/objects/database.yaml -p %s

%s`, o.Profile, o.Graft, s.url, s.authority(), o.Graft, objects+"worker.member.yaml", s.configuration(), o.Graft, o.Profile,
		t.Dim("Everything is in "+folder+", which is removed at the end; its log is "+s.Log+"."))
	select {
	case <-ctx.Done():
		t.Line("\nStopping the program.")
		return nil
	case <-s.Exited():
		return s.Ended()
	}
}
