// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// maximumOperations limits the comparisons of a transaction: the default of etcd's --max-txn-ops. One of them is the
// fence.
const maximumOperations = 128

// page is the number of rows in one read, so that etcd and the server hold few of them in memory.
const page = 2000

// attempts is the number of tries of a call that can be repeated: a hanging member takes only a part of the time.
const attempts = 4

// Limit implements ledger.Limiter.
func (s *Store) Limit() int { return maximumOperations - 1 }

// Commit implements ledger.Store.
func (s *Store) Commit(ctx context.Context, changes ...ledger.Change) error {
	_, err := s.CommitAt(ctx, changes...)
	return err
}

// CommitAt implements ledger.Watcher with one transaction. It repeats the transaction only if etcd reported that it was
// not executed. It fails with ledger.ErrConflict, ledger.ErrTooLarge, or an error with an unknown outcome.
func (s *Store) CommitAt(ctx context.Context, changes ...ledger.Change) (int64, error) {
	if len(changes) > s.Limit() {
		return 0, fmt.Errorf("%w: %d rows, but etcd accepts at most %d", ledger.ErrTooLarge, len(changes), s.Limit())
	}
	if err := ledger.CheckDistinct(changes); err != nil {
		return 0, err
	}
	leave, err := s.startCall()
	if err != nil {
		return 0, err
	}
	defer leave()
	expected, writes := s.operations(changes)
	for range 64 {
		if err := s.fence.ensureRaised(ctx); err != nil {
			return 0, s.options.convertError(err)
		}
		fence := s.fence.known.Load()
		answer, err := s.transact(ctx, append(expected, s.fence.expect(fence)), writes)
		switch {
		case err != nil && isDefinite(err):
			return 0, s.options.convertError(err)
		case err != nil:
			s.fence.raise(ctx)
			return 0, s.options.convertError(err)
		case answer.Succeeded:
			return answer.Header.Revision, nil
		case !s.fence.hasChanged(fence, answer):
			return 0, ledger.ErrConflict
		}
	}
	return 0, errors.New("etcd: the commit was rejected too often while the outcome of earlier commits was unknown; retry")
}

// operations returns the comparisons and the writes for changes.
func (s *Store) operations(changes []ledger.Change) ([]clientv3.Cmp, []clientv3.Op) {
	expected, writes := make([]clientv3.Cmp, 0, len(changes)+1), make([]clientv3.Op, 0, len(changes))
	for _, change := range changes {
		key := s.rows + change.Key
		if change.Was == nil {
			expected = append(expected, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		} else {
			expected = append(expected, clientv3.Compare(clientv3.Value(key), "=", string(change.Was)))
		}
		if change.Value == nil {
			writes = append(writes, clientv3.OpDelete(key))
		} else {
			writes = append(writes, clientv3.OpPut(key, string(change.Value)))
		}
	}
	return expected, writes
}

func (s *Store) transact(ctx context.Context, expected []clientv3.Cmp, writes []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	return s.client.Txn(ctx).If(expected...).Then(writes...).Else(clientv3.OpGet(s.fence.key)).Commit()
}

// Get implements ledger.Store. It reflects all commits before the call, on any member. It fails if etcd does not
// answer.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	leave, err := s.startCall()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.fence.ensureRaised(ctx); err != nil {
		return nil, s.options.convertError(err)
	}
	answer, err := s.get(ctx, s.rows+key)
	if err != nil {
		return nil, s.options.convertError(err)
	}
	if len(answer.Kvs) == 0 {
		return nil, nil
	}
	return append([]byte{}, answer.Kvs[0].Value...), nil
}

func (s *Store) get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return read(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) { return s.client.Get(ctx, key, options...) })
}

// read tries a call that may be repeated several times in the time that it has, each time with another member.
func read[T any](ctx context.Context, s *Store, call func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	for range attempts {
		attempt, end := context.WithTimeout(ctx, s.options.Timeout/attempts)
		answer, err = call(attempt)
		end()
		if !isTimeout(err) || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

// Scan implements ledger.Store. It reads a snapshot that reflects all commits before the call. It fails if etcd or each
// does.
func (s *Store) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	leave, err := s.startCall()
	if err != nil {
		return err
	}
	defer leave()
	return s.scan(ctx, prefix, 0, each)
}

// scan reads rows at a revision, page by page. Revision 0 means the newest one.
func (s *Store) scan(ctx context.Context, prefix string, revision int64, each func(key, value []byte) error) error {
	p := newPages(s.rows+prefix, clientv3.GetPrefixRangeEnd(s.rows+prefix))
	for !p.finished() {
		answer, err := s.get(ctx, p.from, clientv3.WithRange(p.to), clientv3.WithLimit(page), clientv3.WithRev(revision))
		if errors.Is(err, rpctypes.ErrCompacted) {
			return fmt.Errorf("etcd was compacted while its rows were read; read them again: %w", err)
		}
		if err != nil {
			return s.options.convertError(err)
		}
		for _, row := range answer.Kvs {
			if err := ctx.Err(); err != nil {
				return err
			}
			value := row.Value
			if value == nil {
				value = []byte{}
			}
			if err := each(row.Key[len(s.rows):], value); err != nil {
				return err
			}
		}
		if revision == 0 {
			revision = answer.Header.Revision
		}
		if rows := answer.Kvs; answer.More {
			p.extend(string(rows[0].Key), string(rows[len(rows)-1].Key))
		} else {
			p.advance(len(rows))
		}
	}
	return nil
}

// pages splits the rows between two keys (the second excluded) into ranges that end shortly after their first page:
// etcd counts all rows of a range, even if it returns few, which takes long for a million rows.
type pages struct {
	// from and to limit the next request; end is the end of the whole range.
	from, to, end string
	// read is the least number of rows that were read since the end of the last part.
	read int
	// wider is the number of letters by which the common prefix of a part's keys is shortened, because the last parts
	// had few rows.
	wider int
}

func newPages(from, end string) *pages { return &pages{from: from, to: end, end: end} }

// finished reports whether the whole range was read.
func (p *pages) finished() bool { return p.from >= p.end }

// extend records that the part has further rows after those from first to last. The part now ends about four times as far
// after last as that is after first.
func (p *pages) extend(first, last string) {
	same := 0
	for same < min(len(first), len(last)) && first[same] == last[same] {
		same++
	}
	p.from, p.to, p.read, p.wider = last+"\x00", p.firstAfter(last[:same]), page, 0
	if same < len(first) {
		if far := int(last[same]) + 4*int(last[same]-first[same]); far <= 0xff {
			p.to = min(p.to, last[:same]+string([]byte{byte(far)}))
		}
	}
}

// advance records that a part was read completely, with the number of rows on its last page. The next part is as wide, or
// wider if there were few rows.
func (p *pages) advance(rows int) {
	const few = page / 4
	if p.read+rows >= few {
		p.wider = 0
	} else {
		p.wider = max(1, 2*p.wider)
	}
	p.from, p.read = p.to, 0
	p.to = p.firstAfter(p.from[:max(0, len(p.from)-p.wider)])
}

// firstAfter returns the first key after all keys with a prefix, or the end.
func (p *pages) firstAfter(beginning string) string {
	if beginning == "" {
		return p.end
	}
	if next := clientv3.GetPrefixRangeEnd(beginning); next > beginning {
		return min(next, p.end)
	}
	return p.end // of nothing but the greatest letters
}
