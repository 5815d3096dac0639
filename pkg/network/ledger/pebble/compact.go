// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"fmt"
	"time"
)

// Size is how many bytes the rows take on the disk, with what was removed and is still there. The engine has up to 64 MB of logs beside
// them, which it uses again and again.
func (s *Store) Size() (int64, error) {
	leave, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	m := s.db.Metrics()
	return int64(m.WAL.Size + m.Table.Local.LiveSize + m.Table.Local.ObsoleteSize + m.Table.Local.ZombieSize), nil
}

// Compact writes all rows anew without what was removed or replaced, and gives the room back to the disk. Others may read and write
// meanwhile; it needs as much room again as the rows take.
func (s *Store) Compact(ctx context.Context) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := s.db.Compact(ctx, []byte{0}, []byte{0xff}, true); err != nil {
		return fmt.Errorf("compacting the ledger: %w", err)
	}
	s.settle(ctx)
	return nil
}

// settle waits, for a while at most, until files that hold nothing any more are gone.
func (s *Store) settle(ctx context.Context) {
	const patience = 2 * time.Second
	end := time.After(patience)
	ticker := time.NewTicker(patience / 100)
	defer ticker.Stop()
	for {
		if m := s.db.Metrics(); m.Table.Local.ObsoleteSize+m.Table.Local.ZombieSize == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-end:
			return
		case <-ctx.Done():
			return
		case <-s.ending:
			return
		}
	}
}
