// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// ErrDenied says that a rule of the author denies a request. The text is for the people who asked.
var ErrDenied = errors.New("denied")

// Denial is why a request is denied.
type Denial struct {
	// Name is the name of the rule, Code the HTTP status of the response, and Message the text for the user.
	Name    string
	Code    int
	Message string
}

// denial is a rule that denies requests.
type denial struct {
	name    string
	when    *expression.Expression
	code    int
	message *expression.Template
}

// forbidden is the code of a denial that names none.
const forbidden = 403

// Deny returns the first denial that applies to a request, or nil.
func (p *Policy) Deny(ctx context.Context, s Subject) (*Denial, error) {
	if len(p.deny) == 0 {
		return nil, nil
	}
	ctx, end := expression.Limit(ctx)
	defer end()
	vars := &view{Subject: &s}
	for _, rule := range p.deny {
		applies, err := holds(ctx, rule.when, vars)
		if err != nil {
			return nil, fmt.Errorf("evaluating the rule %s: %w", rule.name, err)
		}
		if !applies {
			continue
		}
		message := "denied by the rule " + rule.name
		if rule.message != nil {
			if message, err = rule.message.String(ctx, vars); err != nil {
				return nil, fmt.Errorf("evaluating the message of the rule %s: %w", rule.name, err)
			}
		}
		return &Denial{Name: rule.name, Code: rule.code, Message: message}, nil
	}
	return nil, nil
}

// Permit asks the rules whether a request is permitted. The error wraps ErrDenied where one denies it.
func (p *Policy) Permit(ctx context.Context, s Subject) error {
	denial, err := p.Deny(ctx, s)
	if err != nil || denial == nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrDenied, denial.Message)
}
