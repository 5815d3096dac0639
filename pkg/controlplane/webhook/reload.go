// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Reloader returns a runnable that reloads changed profiles, in every replica.
func (s *Store) Reloader(readers ...ProfileReader) manager.Runnable {
	return reloader{s, readers}
}

type reloader struct {
	store   *Store
	readers []ProfileReader
}

// NeedLeaderElection returns false: every replica serves.
func (reloader) NeedLeaderElection() bool { return false }

// Start runs until the context ends.
func (r reloader) Start(ctx context.Context) error {
	watch.Poll(ctx, r.store.wake, func(ctx context.Context) {
		// The store logs and counts errors, and the next change is another attempt.
		_ = r.store.Load(ctx, r.readers...)
	})
	return nil
}

// Wake triggers a check, after a ConfigMap changed.
func (s *Store) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// findingLines returns the findings in an error as lines.
func findingLines(err error) []string {
	var findings source.Findings
	errors.As(err, &findings)
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.Error()
	}
	return lines
}
