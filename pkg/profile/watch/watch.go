// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package watch notices that documents have changed. Their bytes are compared rather than events awaited, because the kubelet
// replaces a mounted ConfigMap by swapping a symbolic link beside the files. It reads nothing itself. Enter at Poll.
package watch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// interval is how soon a change is noticed.
const interval = time.Second

// Digest tells documents from others; the zero Digest is that of none, not even of an empty list.
type Digest [sha256.Size]byte

// DigestOf is the same for the same names, bytes and attachments in the same order.
func DigestOf(files []source.File) Digest {
	h := sha256.New()
	add := func(parts ...[]byte) {
		for _, part := range parts {
			_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
			h.Write(part)
		}
	}
	for _, file := range files {
		add([]byte(file.Name), file.Data)
		_ = binary.Write(h, binary.BigEndian, uint64(len(file.Attachments)))
		for _, path := range slices.Sorted(maps.Keys(file.Attachments)) {
			add([]byte(path), file.Attachments[path])
		}
		add([]byte(file.Problem))
		_ = binary.Write(h, binary.BigEndian, uint64(len(file.Refused)))
		for _, path := range slices.Sorted(maps.Keys(file.Refused)) {
			add([]byte(path), []byte(file.Refused[path]))
		}
	}
	sum := Digest(h.Sum(nil))
	sum[0] |= 1
	return sum
}

// Poll calls look every second, and whenever wake has a value, until the context ends; wake may be nil.
func Poll(ctx context.Context, wake <-chan struct{}, look func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-wake:
		}
		look(ctx)
	}
}
