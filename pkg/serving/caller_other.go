// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package serving

import "context"

// CallerGone returns false, because only Linux reports whether a caller has closed its connection.
func CallerGone(context.Context) bool { return false }
