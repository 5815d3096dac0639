// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package file keeps the rows of a ledger in a folder on this machine, in a bbolt file. One process at a time has a folder open.
//
// Opening never trusts the files: check.go reads every page before bbolt maps the file, and counter.go detects an older copy.
// docs/decisions/0018-the-ledger-file.md explains the design. Start reading at Open.
package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/cespare/xxhash/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

var (
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("the ledger is closed")
	// ErrHeld is returned by Open while another process has the folder open.
	ErrHeld = errors.New("the ledger is held by another program")
	// ErrMissing is returned by Open if the folder has no ledger and Options forbid to create one.
	ErrMissing = errors.New("there is no ledger")
	// ErrDamaged wraps every error about files that are missing, changed or older than they should be.
	ErrDamaged = errors.New("the ledger's files are damaged")
	// ErrOlder is returned by Open for a folder that Graft wrote before it used bbolt.
	ErrOlder = errors.New("the folder has a ledger of an older version of Graft: export it with `graft ledger export` of that version, " +
		"and import the export into an empty folder")
	// ErrReadOnly is returned by Commit on a store that was opened to read.
	ErrReadOnly = errors.New("the ledger was opened to read")
)

// The files of a folder.
const (
	dataFile    = "ledger.db"
	counterFile = "commits"
	lockFile    = "lock"
)

const (
	// pageSize is fixed, so that a folder can move between machines.
	pageSize = 4096
	// mapBytes is the address space reserved for the file. bbolt never remaps below this size; a remap would wait for all readers.
	mapBytes = 64 << 30
	// growBytes is the number of bytes by which the file grows. Small steps keep a small ledger small.
	growBytes = 128 << 10
	// sumBytes is the length of the checksum after each value.
	sumBytes = 8
)

// The buckets of the file, and the only key of the second.
var (
	rowsBucket  = []byte("rows")
	stateBucket = []byte("state")
	stateKey    = []byte("state")
)

// Options configure Open.
type Options struct {
	// Existing makes Open return ErrMissing instead of creating a ledger. ReadOnly implies it.
	Existing bool
	// ReadOnly makes Commit return ErrReadOnly, and lets several readers open the folder.
	ReadOnly bool
	// OldCopy accepts a file that has fewer commits than were counted: a copy made earlier.
	OldCopy bool
	// Fatal is called once with the first error of the disk. The store refuses everything after it. Nil ignores the error.
	Fatal func(error)
}

// Store is an open folder. It implements ledger.Store and is safe for concurrent use.
type Store struct {
	folder  string
	fatal   func(error)
	lock    *os.File
	db      *bolt.DB
	counter *counter

	// writing is held while a group of commits is written. It guards state.
	writing sync.Mutex
	state   state

	// mutex guards closed, failure and waiting, the commits that are not written yet.
	mutex   sync.Mutex
	closed  bool
	failure error
	waiting []*commit
	ending  chan struct{}
	calls   sync.WaitGroup
}

var _ ledger.Store = (*Store)(nil)

// state is the summary of the whole file that every transaction writes.
type state struct {
	// Commits counts transactions.
	Commits uint64
	// Rows is the number of rows, and Sum the sum of their checksums modulo 2^64.
	Rows, Sum uint64
}

// commit is one caller's commit.
type commit struct {
	changes []ledger.Change
	done    bool
	err     error
}

// Open opens the ledger in a folder, and creates folder and ledger if they are missing. The error wraps ErrHeld, ErrMissing or
// ErrDamaged. Open writes nothing into a folder that it refuses.
func Open(folder string, o Options) (*Store, error) {
	s, err := open(folder, o)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger in %s: %w", folder, err)
	}
	return s, nil
}

func open(folder string, o Options) (opened *Store, err error) {
	s := &Store{folder: folder, fatal: o.Fatal, ending: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := s.acquire(o); err != nil {
		return nil, err
	}
	if s.counter, err = openCounter(filepath.Join(folder, counterFile), o.ReadOnly); err != nil {
		return nil, err
	}
	if s.state, err = s.inspect(o); err != nil {
		return nil, err
	}
	options := &bolt.Options{PageSize: pageSize, NoFreelistSync: true, ReadOnly: o.ReadOnly, InitialMmapSize: mapBytes}
	if s.db, err = bolt.Open(filepath.Join(folder, dataFile), 0o600, options); err != nil {
		return nil, err
	}
	s.db.AllocSize = growBytes
	if !o.ReadOnly && s.counter.value != s.state.Commits { // a crash came between the two writes, or an old copy was accepted
		if err := s.counter.write(s.state.Commits); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// acquire locks the folder for this process, and creates the files of a new ledger.
func (s *Store) acquire(o Options) error {
	create := !o.Existing && !o.ReadOnly
	if older, err := filepath.Glob(filepath.Join(s.folder, "MANIFEST-*")); err != nil || len(older) > 0 {
		return errors.Join(err, ErrOlder)
	}
	if create {
		if err := os.MkdirAll(s.folder, 0o700); err != nil {
			return err
		}
	} else if !hasLedger(s.folder) {
		return ErrMissing
	}
	err := disk.CheckInside(s.folder, dataFile, counterFile, lockFile)
	if err != nil {
		return err
	}
	if s.lock, err = lockFolder(s.folder, o.ReadOnly); err != nil || !create {
		return err
	}
	return initialize(s.folder)
}

// hasLedger reports whether a folder has any file of a ledger.
func hasLedger(folder string) bool {
	for _, name := range []string{dataFile, counterFile} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// lockFolder takes the lock of a folder, shared for readers. It returns ErrHeld without waiting.
func lockFolder(folder string, shared bool) (*os.File, error) {
	flags, how := os.O_RDWR|os.O_CREATE, syscall.LOCK_EX
	if shared {
		flags, how = os.O_RDONLY|os.O_CREATE, syscall.LOCK_SH
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	return lock, nil
}

// initialize creates the files of a new ledger. The counter comes first and the data file appears complete, so that a crash leaves
// either no ledger or a whole one. A counter above zero without a data file is left for inspect to refuse.
func initialize(folder string) error {
	data := filepath.Join(folder, dataFile)
	if _, err := os.Lstat(data); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	counted, err := createCounter(filepath.Join(folder, counterFile))
	if err != nil || counted > 0 {
		return err
	}
	fresh := data + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(fresh, 0o600, &bolt.Options{PageSize: pageSize, NoFreelistSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucket(rowsBucket); err != nil {
			return err
		}
		bucket, err := tx.CreateBucket(stateBucket)
		if err != nil {
			return err
		}
		return bucket.Put(stateKey, state{}.encode())
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, data); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes new names in a folder durable.
func syncFolder(folder string) error {
	opened, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// inspect checks the data file and compares its number of commits with the counter.
func (s *Store) inspect(o Options) (state, error) {
	found, err := check(filepath.Join(s.folder, dataFile))
	if err != nil {
		return state{}, err
	}
	if found.Commits < s.counter.value && !o.OldCopy {
		return state{}, damaged("%s has %d commits, and %d were made: it is an older copy, or its newest page is lost",
			dataFile, found.Commits, s.counter.value)
	}
	return found, nil
}

// damaged returns an error that wraps ErrDamaged, with the file's problem and the remedy.
func damaged(format string, values ...any) error {
	return fmt.Errorf("%w: %s. Nothing was changed or deleted. Keep the folder, check the disk, and import the newest export into an empty folder "+
		"(graft ledger import)", ErrDamaged, fmt.Sprintf(format, values...))
}

// Commit implements ledger.Store. The commits that wait for a running one are written together by the first of their callers.
func (s *Store) Commit(_ context.Context, changes ...ledger.Change) error {
	if err := ledger.CheckDistinct(changes); err != nil {
		return err
	}
	leave, err := s.startCall()
	if err != nil {
		return err
	}
	defer leave()
	if s.db.IsReadOnly() {
		return ErrReadOnly
	}
	c := &commit{changes: changes}
	s.mutex.Lock()
	s.waiting = append(s.waiting, c)
	s.mutex.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	if !c.done {
		s.write()
	}
	return c.err
}

// write makes the waiting commits durable and notes their results. It omits commits with unexpected rows. After an
// error of the disk or a panic, the store fails all further commits, because the content of the disk is unknown.
func (s *Store) write() {
	s.mutex.Lock()
	group, err := s.waiting, s.failure
	s.waiting = nil
	s.mutex.Unlock()
	defer func() {
		if value := recover(); value != nil { // otherwise the others would return as if their commits were written
			err = s.fail(fmt.Errorf("panic: %v\n%s", value, debug.Stack()))
		}
		for _, c := range group {
			c.done = true
			if err != nil {
				c.err = err
			}
		}
	}()
	if err == nil {
		err = s.writeGroup(group)
	}
}

func (s *Store) writeGroup(group []*commit) error {
	next := s.state
	err := s.db.Update(func(tx *bolt.Tx) error {
		rows, applied := tx.Bucket(rowsBucket), 0
		for _, c := range group {
			switch c.err = next.apply(rows, c.changes); {
			case c.err == nil:
				applied++
			case !errors.Is(c.err, ledger.ErrConflict):
				return c.err
			}
		}
		if applied == 0 {
			return ledger.ErrConflict
		}
		next.Commits++
		return tx.Bucket(stateBucket).Put(stateKey, next.encode())
	})
	if errors.Is(err, ledger.ErrConflict) {
		return nil // rolled back: every commit of the group has its own conflict
	}
	if err == nil {
		s.state = next
		err = s.counter.write(next.Commits)
	}
	if err != nil {
		return s.fail(err)
	}
	return nil
}

// apply makes the changes of one commit if all rows are as it expects, and returns ledger.ErrConflict otherwise.
func (n *state) apply(rows *bolt.Bucket, changes []ledger.Change) error {
	stored := make([][]byte, len(changes))
	for i, change := range changes {
		stored[i] = rows.Get([]byte(change.Key))
		value, err := decode([]byte(change.Key), stored[i])
		if err != nil {
			return err
		}
		if (value == nil) != (change.Was == nil) || !bytes.Equal(value, change.Was) {
			return ledger.ErrConflict
		}
	}
	for i, change := range changes {
		key := []byte(change.Key)
		if stored[i] != nil {
			n.Rows--
			n.Sum -= checksumOf(stored[i])
		}
		if change.Value == nil {
			if err := rows.Delete(key); err != nil {
				return err
			}
			continue
		}
		row := encode(key, change.Value)
		n.Rows++
		n.Sum += checksumOf(row)
		if err := rows.Put(key, row); err != nil {
			return err
		}
	}
	return nil
}

// fail remembers the first error of the disk, and reports it.
func (s *Store) fail(err error) error {
	err = fmt.Errorf("writing the ledger in %s: %w", s.folder, err)
	s.mutex.Lock()
	s.failure = err
	s.mutex.Unlock()
	if s.fatal != nil {
		s.fatal(err)
	}
	return err
}

// startCall registers a caller. It returns the function that the caller calls when it is done.
func (s *Store) startCall() (func(), error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.failure != nil {
		return nil, s.failure
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// view calls read with the rows as they are now.
func (s *Store) view(read func(rows *bolt.Bucket) error) error {
	leave, err := s.startCall()
	if err != nil {
		return err
	}
	defer leave()
	return s.db.View(func(tx *bolt.Tx) error { return read(tx.Bucket(rowsBucket)) })
}

// Get implements ledger.Store. The error wraps ErrDamaged if the row is not as it was written.
func (s *Store) Get(_ context.Context, key string) (value []byte, err error) {
	err = s.view(func(rows *bolt.Bucket) error {
		found, err := decode([]byte(key), rows.Get([]byte(key)))
		if found != nil {
			value = append([]byte{}, found...)
		}
		return err
	})
	return value, err
}

// Scan implements ledger.Store. It sees the rows as they were when it began, and returns ErrClosed if the store is closed while it runs.
func (s *Store) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	return s.view(func(bucket *bolt.Bucket) error {
		rows := bucket.Cursor()
		for key, row := rows.Seek([]byte(prefix)); key != nil && bytes.HasPrefix(key, []byte(prefix)); key, row = rows.Next() {
			select {
			case <-s.ending:
				return ErrClosed
			case <-ctx.Done():
				return ctx.Err()
			default:
			}
			value, err := decode(key, row)
			if err == nil {
				err = each(key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Close implements ledger.Store. It waits for running commits, and ends scans. It fails if the file cannot be closed.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closed {
		s.mutex.Unlock()
		return nil
	}
	s.closed = true
	close(s.ending)
	s.mutex.Unlock()
	s.calls.Wait()
	return s.release()
}

// release closes the files, and unlocks the folder last.
func (s *Store) release() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.counter != nil {
		errs = append(errs, s.counter.file.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// encode returns a value followed by the checksum of its row.
func encode(key, value []byte) []byte {
	row := make([]byte, 0, len(value)+sumBytes)
	return binary.LittleEndian.AppendUint64(append(row, value...), checksum(key, value))
}

// decode returns the value of a row, or nil if row is nil. The error wraps ErrDamaged if the checksum differs.
func decode(key, row []byte) ([]byte, error) {
	if row == nil {
		return nil, nil
	}
	if len(row) < sumBytes {
		return nil, damaged("the row %q is too short", key)
	}
	value := row[: len(row)-sumBytes : len(row)-sumBytes]
	if checksum(key, value) != checksumOf(row) {
		return nil, damaged("the checksum of the row %q is wrong", key)
	}
	return value, nil
}

// checksumOf returns the checksum that a row carries.
func checksumOf(row []byte) uint64 { return binary.LittleEndian.Uint64(row[len(row)-sumBytes:]) }

// checksum returns the checksum of a row. The length keeps key and value apart.
func checksum(key, value []byte) uint64 {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(key)))
	digest := xxhash.New()
	_, _ = digest.Write(length[:])
	_, _ = digest.Write(key)
	_, _ = digest.Write(value)
	return digest.Sum64()
}

// encode returns the state as bytes, with a checksum.
func (n state) encode() []byte {
	raw, _ := binary.Append(nil, binary.LittleEndian, n) // its size is fixed
	return binary.LittleEndian.AppendUint64(raw, checksum(stateKey, raw))
}

// decodeState returns the state that encode wrote, or an error that wraps ErrDamaged.
func decodeState(raw []byte) (n state, err error) {
	length := binary.Size(n)
	if len(raw) != length+sumBytes || checksum(stateKey, raw[:length]) != checksumOf(raw) {
		return n, damaged("the record of commits in %s is not as it was written", dataFile)
	}
	_, err = binary.Decode(raw, binary.LittleEndian, &n)
	return n, err
}
