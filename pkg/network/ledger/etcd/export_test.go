// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import "time"

// SetTimeout bounds each call from now on.
func (s *Store) SetTimeout(timeout time.Duration) { s.options.Timeout = timeout }
