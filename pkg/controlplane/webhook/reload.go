// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// pollInterval is how soon a change of files is noticed. Their bytes are compared rather than events awaited, because the
// kubelet replaces a mounted ConfigMap by swapping a symbolic link beside the files.
const pollInterval = time.Second

type digest [sha256.Size]byte

// digestOf is the same for the same names, bytes and attachments in the same order.
func digestOf(files []source.File) digest {
	h := sha256.New()
	add := func(parts ...[]byte) {
		for _, part := range parts {
			_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
			h.Write(part)
		}
	}
	for _, file := range files {
		add([]byte(file.Name), file.Data)
		for _, path := range slices.Sorted(maps.Keys(file.Attachments)) {
			add([]byte(path), file.Attachments[path])
		}
	}
	// A first byte tells "no files" from "nothing attempted yet", which is all zero.
	sum := digest(h.Sum(nil))
	sum[0] |= 1
	return sum
}

// Reloader loads the profiles again whenever they change, in every replica.
func (s *Store) Reloader(readers ...ProfileReader) manager.Runnable {
	return reloader{s, readers}
}

type reloader struct {
	store   *Store
	readers []ProfileReader
}

// NeedLeaderElection is false: every replica serves.
func (reloader) NeedLeaderElection() bool { return false }

// Start runs until the context ends.
func (r reloader) Start(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-r.store.wake:
		}
		// The store has logged and counted the error, and the next change is another attempt.
		_ = r.store.Load(ctx, r.readers...)
	}
}

// Wake makes the reloader look now; it is called when a ConfigMap changed.
func (s *Store) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// findingLines are the findings in an error, one each.
func findingLines(err error) []string {
	var findings source.Findings
	errors.As(err, &findings)
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.Error()
	}
	return lines
}
