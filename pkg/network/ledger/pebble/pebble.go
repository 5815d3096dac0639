// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package pebble keeps the rows of a ledger in a folder, with the storage engine of CockroachDB. Commits of many callers are
// made durable together: one write to the disk for all that wait. A folder belongs to one server at a time.
//
// Why this engine: docs/decisions. Enter at Open.
package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrClosed says that the store has been closed.
var ErrClosed = errors.New("the ledger is closed")

// ErrHeld says that another program has the folder open, most likely a server.
var ErrHeld = errors.New("it is held by another program")

// ErrMissing says that there is no ledger in the folder.
var ErrMissing = errors.New("there is no ledger")

// ErrDamaged says that files of the folder are missing, or not as they were written.
var ErrDamaged = errors.New("its files are damaged: keep the folder, and import the newest export into an empty one")

// Options say how a folder is opened.
type Options struct {
	// FS is where the folder is; that of the machine when nil.
	FS vfs.FS
	// CacheBytes bounds what is kept of the rows in memory. What was written and is in no table yet is part of it, twice memtable at most; the rest
	// should have room for the filters, which take 2.5 bytes for each allocation. Default 128 MiB.
	CacheBytes int64
	// Report is told what the engine has to say, line by line; nil: nobody is.
	Report func(string)
	// Die is told why the engine cannot go on, such as that the disk is full, and must not return; nil: a panic. The error wraps ErrDamaged where files
	// are not as they were written.
	Die func(error)
	// Existing refuses a folder in which there is no ledger, with ErrMissing, rather than to make one. ReadOnly does, too, and refuses commits.
	Existing, ReadOnly bool
}

// Store is a folder that is open.
type Store struct {
	db    *pebble.DB
	lock  *pebble.Lock
	cache *pebble.Cache
	queue chan *commit
	done  chan struct{}
	// once belongs to serve.
	once once

	// mutex guards closed; it is held for reading while a commit is handed over. It is never held while a caller's function runs.
	mutex  sync.RWMutex
	closed bool
	// ending is closed when the store ends: scans stop then. readers are those that are under way.
	ending  chan struct{}
	readers sync.WaitGroup
}

var _ ledger.Store = (*Store)(nil)

// commit is what one caller waits for.
type commit struct {
	changes []ledger.Change
	err     error
	ready   chan struct{}
}

// memtable is how many bytes are written before the engine makes tables of them.
const memtable = 32 << 20

// maximumGroup bounds how many commits are made durable together.
const maximumGroup = 1024

// Open opens a folder, and makes it when it is not there. The error wraps ErrHeld while another program has it open, and ErrDamaged.
func Open(folder string, o Options) (*Store, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = 128 << 20
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	lock, err := hold(folder, o)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger in %s: %w", folder, err)
	}
	cache, says := pebble.NewCache(o.CacheBytes), logger{folder, o.Report, o.Die}
	options := &pebble.Options{
		Cache: cache, FS: o.FS, Lock: lock, Logger: says, MemTableSize: memtable, FormatMajorVersion: pebble.FormatNewest,
		ReadOnly: o.ReadOnly, EventListener: &pebble.EventListener{PossibleAPIMisuse: says.misused, DataCorruption: says.damaged},
	}
	// Most rows that are asked for are not there, as a new owner's: a filter says so without reading. Lower levels follow the first.
	options.Levels[0].FilterPolicy = bloom.FilterPolicy(10)
	db, err := pebble.Open(folder, options)
	if err != nil {
		cache.Unref()
		return nil, fmt.Errorf("opening the ledger in %s: %w", folder, errors.Join(damage(err), lock.Close()))
	}
	s := &Store{
		db: db, lock: lock, cache: cache, queue: make(chan *commit, maximumGroup), done: make(chan struct{}), once: once{generation: generation},
		ending: make(chan struct{}),
	}
	go s.serve()
	return s, nil
}

// hold locks a folder for this program.
func hold(folder string, o Options) (*pebble.Lock, error) {
	if o.ReadOnly || o.Existing {
		// Nothing is written into a folder that is somebody else's.
		found, err := pebble.Peek(folder, o.FS)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !found.Exists:
			return nil, ErrMissing
		case err != nil:
			return nil, damage(err)
		}
	} else if err := o.FS.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(folder, o.FS)
	var file *fs.PathError
	if err != nil && !errors.As(err, &file) {
		// The system's error for a lock that is held, or the engine's where this program has it itself.
		return nil, ErrHeld
	}
	return lock, err
}

// Commit implements ledger.Store. Once it is handed over, a commit is made whether or not its caller still waits.
func (s *Store) Commit(ctx context.Context, changes ...ledger.Change) error {
	if err := ledger.Distinct(changes); err != nil {
		return err
	}
	c := &commit{changes: changes, ready: make(chan struct{})}
	if err := s.hand(ctx, c); err != nil {
		return err
	}
	<-c.ready
	return c.err
}

func (s *Store) hand(ctx context.Context, c *commit) error {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.queue <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve makes commits durable, all that wait at a time.
func (s *Store) serve() {
	defer close(s.done)
	for first := range s.queue {
		group := []*commit{first}
		for len(group) < maximumGroup {
			select {
			case next, ok := <-s.queue:
				if ok {
					group = append(group, next)
					continue
				}
			default:
			}
			break
		}
		s.write(group)
	}
}

// write checks each commit against what stands and what those before it in the group write, and writes those that hold.
func (s *Store) write(commits []*commit) {
	err := s.writeGroup(commits)
	for _, c := range commits {
		if c.err == nil {
			c.err = err
		}
		close(c.ready)
	}
}

func (s *Store) writeGroup(commits []*commit) error {
	g := newGroup(s.db, &s.once)
	for _, c := range commits {
		c.err = g.add(c.changes)
	}
	err := g.commit()
	if err != nil {
		s.once = once{generation: s.once.generation} // nobody knows what stands
	}
	return err
}

// enter begins to read; what it returns ends it.
func (s *Store) enter() (func(), error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.readers.Add(1)
	return s.readers.Done, nil
}

// Get implements ledger.Store.
func (s *Store) Get(_ context.Context, key string) ([]byte, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return get(s.db, key)
}

func get(from pebble.Reader, key string) ([]byte, error) {
	value, closer, err := from.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }()
	return append([]byte{}, value...), nil
}

// Scan implements ledger.Store. It sees the rows as they were when it began, and ends with ErrClosed when the store does.
func (s *Store) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) (err error) {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	bounds := &pebble.IterOptions{UpperBound: after(prefix)}
	if prefix != "" {
		bounds.LowerBound = []byte(prefix)
	}
	rows, err := s.db.NewIterWithContext(ctx, bounds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.First(); rows.Valid(); rows.Next() {
		select {
		case <-s.ending:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := each(rows.Key(), rows.Value()); err != nil {
			return err
		}
	}
	return rows.Error()
}

// after is the first key that does not begin with the prefix.
func after(prefix string) []byte {
	bound := []byte(prefix)
	for i := len(bound) - 1; i >= 0; i-- {
		if bound[i]++; bound[i] != 0 {
			return bound[:i+1]
		}
	}
	return nil
}

// Close implements ledger.Store.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closed {
		s.mutex.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	close(s.ending)
	s.mutex.Unlock()
	<-s.done
	s.readers.Wait()
	err := errors.Join(s.db.Close(), s.lock.Close())
	s.cache.Unref()
	return err
}
