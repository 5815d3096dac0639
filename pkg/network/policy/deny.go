// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrDenied means that a deny rule of the profile rejects the request. Users see its text.
var ErrDenied = errors.New("denied")

// denial is a rule that denies requests.
type denial struct {
	name    string
	when    *expression.Expression
	message *expression.Template
}

// Permit evaluates the deny rules. The error wraps ErrDenied if one applies, with the message of the first
// one; or it is that of an expression.
func (p *Policy) Permit(ctx context.Context, s Subject) error {
	if len(p.deny) == 0 {
		return nil
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	vars := &view{Subject: &s}
	for _, rule := range p.deny {
		applies, err := isTrue(ctx, rule.when, vars)
		if err != nil {
			return fmt.Errorf("evaluating the rule %s: %w", rule.name, err)
		}
		if !applies {
			continue
		}
		message := "the rule " + rule.name + " applies"
		if rule.message != nil {
			if message, err = rule.message.String(ctx, vars); err != nil {
				return fmt.Errorf("evaluating the message of the rule %s: %w", rule.name, err)
			}
		}
		return fmt.Errorf("%w: %s", ErrDenied, message)
	}
	return nil
}

// maximumQuotaName limits the name of a quota, in bytes, because it is part of a key in the ledger.
const maximumQuotaName = 512

// quota limits the number of a pool's allocations with the same name.
type quota struct {
	by    *expression.Template
	when  *expression.Expression
	limit int
	at    source.Node
}

// Quotas returns the quotas to which a request for an address of the pool counts. Missing data of a caller is empty in
// their names, so that all callers without it share one. If two have the same name, the smaller one applies. It fails if
// an expression fails, or a name is empty or too long.
func (p *Pool) Quotas(ctx context.Context, s Subject) ([]ledger.Quota, error) {
	if len(p.quotas) == 0 {
		return nil, nil
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	var quotas []ledger.Quota
	vars := &view{Subject: &s}
	for _, q := range p.quotas {
		applies, err := isTrue(ctx, q.when, vars)
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
