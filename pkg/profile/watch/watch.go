// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package watch activates changed documents. It compares their bytes every second instead of waiting for file events,
// because the kubelet replaces a mounted ConfigMap by swapping a symbolic link in its folder. It reads no files
// itself. Start reading at Reloader.
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

// interval is the time between checks.
const interval = time.Second

// Digest identifies a list of documents. The zero Digest differs from the Digest of any list, including an empty one.
type Digest [sha256.Size]byte

// DigestOf returns equal digests for equal names, contents and attachments in the same order.
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

// Poll calls look every second, and whenever wake receives a value, until the context ends. wake may be nil.
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
