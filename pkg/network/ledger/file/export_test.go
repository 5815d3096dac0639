// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"runtime"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Check runs the check that Open begins with.
func Check(path string) error {
	_, err := check(path)
	return err
}

// CommitPanicking commits each change, all in one group. Writing the group panics. It returns the error of each commit.
func CommitPanicking(s *Store, changes ...ledger.Change) ([]error, error) {
	err := s.db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket(rowsBucket) })
	if err != nil {
		return nil, err
	}
	results := make([]error, len(changes))
	var group sync.WaitGroup
	s.writing.Lock()
	for i, change := range changes {
		group.Go(func() { results[i] = s.Commit(context.Background(), change) })
	}
	for waiting := 0; waiting < len(changes); runtime.Gosched() {
		s.mutex.Lock()
		waiting = len(s.waiting)
		s.mutex.Unlock()
	}
	s.writing.Unlock()
	group.Wait()
	return results, nil
}
