// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

// Pending is how many releases of which the cloud does not know yet wait in memory, are worked on, or wait for
// a cloud that is not known here. What does not fit into memory is in the
// ledger only.
func (s *Service) Pending() int { return s.releases.pending() + s.parked.count() }

// pending is how many owners there are.
func (q *queue) pending() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.known)
}
