// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// maximumQuotaName bounds the name of a quota in bytes; it is a part of a key of the ledger.
const maximumQuotaName = 512

// quota is one of a pool.
type quota struct {
	by    *expression.Template
	when  *expression.Expression
	limit int
	at    source.Node
}

// Quotas returns the quotas to which a request for an address of the pool counts. Missing data of a caller is empty in
// their names, so that all callers without it share one. If two have the same name, the smaller one applies.
func (p *Pool) Quotas(ctx context.Context, s Subject) ([]ledger.Quota, error) {
	if len(p.quotas) == 0 {
		return nil, nil
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	var quotas []ledger.Quota
	vars := &view{Subject: &s}
	for _, q := range p.quotas {
		applies, err := holds(ctx, q.when, vars)
		if err != nil {
			return nil, fmt.Errorf("evaluating a quota of the pool %s: %w", p.Name, err)
		}
		if !applies {
			continue
		}
		name, err := q.by.String(ctx, vars)
		if err != nil {
			return nil, fmt.Errorf("evaluating a quota of the pool %s: %w", p.Name, err)
		}
		if name == "" || len(name) > maximumQuotaName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("evaluating a quota of the pool %s: %s: the name must be 1 to %d bytes of printable text", p.Name, q.at.Position(), maximumQuotaName)
		}
		same := func(other ledger.Quota) bool { return other.Name == name }
		if i := slices.IndexFunc(quotas, same); i >= 0 {
			quotas[i].Limit = min(quotas[i].Limit, q.limit)
			continue
		}
		quotas = append(quotas, ledger.Quota{Name: name, Limit: q.limit})
	}
	return quotas, nil
}
