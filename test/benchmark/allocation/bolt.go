// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"

	"go.etcd.io/bbolt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// bolt keeps rows in one file with bbolt, as a store of the ledger would: it writes waiting commits
// together. Only the benchmark compares with it.
type bolt struct {
	db    *bbolt.DB
	queue chan *boltCommit
	done  chan struct{}
}

type boltCommit struct {
	changes []ledger.Change
	err     error
	ready   chan struct{}
}

var rows = []byte("rows")

func openBolt(_ context.Context, _ options, folder string) (ledger.Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(folder+"/ledger", 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(rows); return err }); err != nil {
		return nil, err
	}
	b := &bolt{db: db, queue: make(chan *boltCommit, 1024), done: make(chan struct{})}
	go b.serve()
	return b, nil
}

// Commit implements ledger.Store.
func (b *bolt) Commit(_ context.Context, changes ...ledger.Change) error {
	c := &boltCommit{changes: changes, ready: make(chan struct{})}
	b.queue <- c
	<-c.ready
	return c.err
}

func (b *bolt) serve() {
	defer close(b.done)
	for first := range b.queue {
		group := []*boltCommit{first}
	collect:
		for len(group) < 1024 {
			select {
			case next, ok := <-b.queue:
				if !ok {
					break collect
				}
				group = append(group, next)
			default:
				break collect
			}
		}
		err := b.db.Update(func(tx *bbolt.Tx) error {
			for _, c := range group {
				c.err = change(tx.Bucket(rows), c.changes)
			}
			return nil
		})
		for _, c := range group {
			if c.err == nil {
				c.err = err
			}
			close(c.ready)
		}
	}
}

func change(bucket *bbolt.Bucket, changes []ledger.Change) error {
	for _, c := range changes {
		if stands := bucket.Get([]byte(c.Key)); (stands == nil) != (c.Was == nil) || !bytes.Equal(stands, c.Was) {
			return ledger.ErrConflict
		}
	}
	for _, c := range changes {
		var err error
		if c.Value == nil {
			err = bucket.Delete([]byte(c.Key))
		} else {
			err = bucket.Put([]byte(c.Key), c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Get implements ledger.Store.
func (b *bolt) Get(_ context.Context, key string) (value []byte, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		value = bytes.Clone(tx.Bucket(rows).Get([]byte(key)))
		return nil
	})
	return value, err
}

// Scan implements ledger.Store.
func (b *bolt) Scan(_ context.Context, prefix string, each func(key, value []byte) error) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(rows).Cursor()
		for key, value := cursor.Seek([]byte(prefix)); bytes.HasPrefix(key, []byte(prefix)); key, value = cursor.Next() {
			if err := each(key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close implements ledger.Store.
func (b *bolt) Close() error {
	close(b.queue)
	<-b.done
	return b.db.Close()
}
