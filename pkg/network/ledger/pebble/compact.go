// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"fmt"
	"time"
)

// Size is how many bytes the folder takes on the disk.
func (s *Store) Size() (int64, error) {
	leave, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	return int64(s.db.Metrics().DiskSpaceUsage()), nil
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
		if m := s.db.Metrics(); m.Table.Local.ObsoleteSize+m.Table.Local.ZombieSize+m.WAL.ObsoletePhysicalSize == 0 {
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
