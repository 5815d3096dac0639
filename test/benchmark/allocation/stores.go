// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// kind is a store that can be measured.
type kind struct {
	name string
	// most is the maximum number of allocations in this store; 0 means no limit.
	most int
	// alone reports that the store is measured only without the ledger, for comparison.
	alone bool
	// database is the path of the rows in the store's folder.
	database string
	open     func(ctx context.Context, o options, folder string) (ledger.Store, error)
}

// stores are all measured stores.
var stores = []kind{
	{name: "file", open: openFile},
	{name: "bbolt", open: openBolt, alone: true},
	{name: "etcd", open: openEtcd, most: 1_000_000, database: "data/member/snap/db"},
}

func openFile(_ context.Context, _ options, folder string) (ledger.Store, error) {
	return file.Open(folder, file.Options{})
}

// served is a store on an etcd that the benchmark starts and stops. The ledger uses the store; beside has rows in the
// same etcd without a watch.
type served struct {
	*etcd.Store
	beside  *etcd.Store
	process *exec.Cmd
}

// Close ends the store and its server.
func (s served) Close() error {
	err := errors.Join(s.Store.Close(), s.beside.Close())
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	return err
}

// openEtcd starts an etcd with the largest quota that its documentation recommends.
func openEtcd(ctx context.Context, o options, folder string) (ledger.Store, error) {
	addresses, err := env.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	client, peer := addresses[0], addresses[1]
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "etcd.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	process := exec.CommandContext(ctx, o.etcd, "--data-dir", filepath.Join(folder, "data"), "--quota-backend-bytes",
		fmt.Sprint(8<<30),
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster",
		"default=http://"+peer)
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting etcd (hack/tools/build.sh etcd builds it): %w", err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		both, err := openBoth(attempt, "http://"+client)
		cancel()
		if err == nil {
			both.process = process
			return both, nil
		}
		if time.Now().After(deadline) {
			_ = process.Process.Kill()
			return nil, err
		}
	}
}

func openBoth(ctx context.Context, endpoint string) (both served, err error) {
	if both.Store, err = etcd.Open(ctx, etcd.Options{Endpoints: []string{endpoint}, Prefix: "/graft"}); err != nil {
		return both, err
	}
	if both.beside, err = etcd.Open(ctx, etcd.Options{Endpoints: []string{endpoint}, Prefix: "/beside"}); err != nil {
		err = errors.Join(err, both.Store.Close())
	}
	return both, err
}
