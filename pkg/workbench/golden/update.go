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

// Updated lists the written and removed golden files, and the cases without an update because of other failures.
type Updated struct {
	Written, Removed, Stale []string
	Kept                    []*Case
}

// Update writes the golden files with other content, each atomically, and marks them as equal. A case that could not be
// run, or has other failures, keeps its files. If prune is true, it removes files of no case. If the context ends, it
// stops between two files.
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
