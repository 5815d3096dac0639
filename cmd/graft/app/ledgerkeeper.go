// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// keeper gives access to a ledger: in this program, on a server, or in a file.
type keeper interface {
	search(ctx context.Context, q ledger.Query, each func(ledger.Entry) error) error
	export(ctx context.Context, out io.Writer, o archive.ExportOptions) (archive.Exported, error)
	verify(ctx context.Context, progress func(rows int)) (*ledger.Report, error)
	// release returns the allocation, and whether it is released; otherwise the server releases it at its start.
	release(ctx context.Context, owner network.Owner) (a network.Allocation, done bool, err error)
	close() error
}

// opened is a ledger that this program has.
type opened struct {
	store ledger.Store
	// shared says that servers may have the ledger, too.
	shared bool
}

func (o *opened) search(ctx context.Context, q ledger.Query, each func(ledger.Entry) error) error {
	return ledger.Search(ctx, o.store, q, each)
}

func (o *opened) export(ctx context.Context, out io.Writer, options archive.ExportOptions) (archive.Exported, error) {
	return archive.Export(ctx, o.store, out, options)
}

func (o *opened) verify(ctx context.Context, progress func(rows int)) (*ledger.Report, error) {
	return ledger.Verify(ctx, o.store, ledger.VerifyOptions{Now: time.Now(), Progress: progress})
}

func (o *opened) release(ctx context.Context, owner network.Owner) (network.Allocation, bool, error) {
	a, err := ledger.MarkReleasing(ctx, o.store, owner)
	return a, false, err
}

func (o *opened) close() error { return o.store.Close() }

// asked is a ledger of a server: it is read through the server, which also writes.
type asked struct {
	opened
	client *remote.Client
}

func (a *asked) release(ctx context.Context, owner network.Owner) (network.Allocation, bool, error) {
	held, err := a.client.Release(ctx, owner)
	return held, true, err
}

// exported is an export, to be looked into.
type exported struct{ path string }

var errExported = errors.New("this cannot be done with an export; `graft ledger import` makes a ledger of it")

func (e exported) search(ctx context.Context, q ledger.Query, each func(ledger.Entry) error) error {
	in, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	_, err = archive.Read(in, func(_ int, rows []ledger.Change) error {
		entry, err := ledger.ReadEntry([]byte(rows[0].Key), rows[0].Value)
		if err != nil || !q.Matches(entry) {
			return errors.Join(err, ctx.Err())
		}
		return errors.Join(each(entry), ctx.Err())
	})
	if err != nil {
		return fmt.Errorf("%s: %w", e.path, err)
	}
	return nil
}

func (e exported) export(context.Context, io.Writer, archive.ExportOptions) (archive.Exported, error) {
	return archive.Exported{}, errExported
}

func (e exported) verify(ctx context.Context, progress func(rows int)) (*ledger.Report, error) {
	in, err := os.Open(e.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return archive.Verify(ctx, in, progress)
}

func (e exported) release(context.Context, network.Owner) (network.Allocation, bool, error) {
	return network.Allocation{}, false, errExported
}

func (e exported) close() error { return nil }

// absolutePath returns a path independent of the working directory.
func absolutePath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	return absolute, nil
}
