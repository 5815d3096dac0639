// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"context"
	"fmt"
	"os"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// Updated are the golden files that were written or removed, and the cases of which none was, as something else is wrong.
type Updated struct {
	Written, Removed, Stale []string
	Kept                    []*Case
}

// Update writes the golden files that do not say what was got, each at once as a whole, and marks them as the same. A case that
// could not be run, or has other failures, keeps its files. Those that no case holds are removed if prune says so. It ends
// between two files when the context does.
func Update(ctx context.Context, results []Result, stale []string, prune bool) (*Updated, error) {
	updated := &Updated{}
	for i := range results {
		r := &results[i]
		if r.Ran && (r.Err != nil || len(r.Failures) > 0) && len(r.Case.Goldens) > 0 {
			updated.Kept = append(updated.Kept, r.Case)
			continue
		}
		for j := range r.Goldens {
			if err := ctx.Err(); err != nil {
				return updated, err
			}
			if g := &r.Goldens[j]; !g.Same {
				if err := updated.put(g, prune); err != nil {
					return updated, err
				}
			}
		}
	}
	for _, path := range stale {
		if err := updated.remove(path, prune); err != nil {
			return updated, err
		}
	}
	return updated, nil
}

func (u *Updated) put(g *Golden, prune bool) error {
	if len(g.Got) == 0 {
		g.Same = prune
		return u.remove(g.Path, prune)
	}
	g.Same = true
	if err := whole.WriteDeep(g.Path, g.Got); err != nil {
		return fmt.Errorf("writing a golden file: %w", err)
	}
	u.Written = append(u.Written, g.Path)
	return nil
}

func (u *Updated) remove(path string, prune bool) error {
	if !prune {
		u.Stale = append(u.Stale, path)
		return nil
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing a golden file: %w", err)
	}
	u.Removed = append(u.Removed, path)
	return nil
}
