// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// errUnnamed says that a name was computed, and is empty.
var errUnnamed = fmt.Errorf("its name is empty: %w", facts.ErrNotFound)

// read makes the lookup for a control plane in the namespace; what is optional and missing is nil.
func (l *lookup) read(ctx context.Context, namespace string, variables operation.Variables, source facts.Source) (*facts.Found, *Failure) {
	request, err := l.resolve(ctx, variables)
	if err != nil {
		return nil, lookupFailure(l, ExpressionFailed, err)
	}
	var found *facts.Found
	switch {
	case request.ObjectName != "":
		found, err = source.Lookup(ctx, namespace, request)
	case !request.Optional:
		err = errUnnamed
	}
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, facts.ErrNotFound):
		return nil, lookupFailure(l, LookupMissing, err)
	default:
		return nil, lookupFailure(l, LookupFailed, err)
	}
}

func lookupFailure(l *lookup, reason Reason, err error) *Failure {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		reason = DeadlineExceeded
	}
	if l.request.Checksum && strings.HasPrefix(l.request.Name, "checksum_") {
		// Nobody wrote the name of a lookup that an operation makes by itself.
		return fail(reason, err, "profile %s: the checksum of %s (%s)", l.profile, l.shown, l.at)
	}
	return fail(reason, err, "profile %s: lookup %s", l.profile, l.request.Name)
}

// resolve computes the name of the object.
func (l *lookup) resolve(ctx context.Context, variables operation.Variables) (facts.LookupRequest, error) {
	request := l.request
	for _, part := range []struct {
		template *expression.Template
		into     *string
	}{{l.name, &request.ObjectName}, {l.namespace, &request.Namespace}} {
		if part.template == nil {
			continue
		}
		name, err := part.template.String(ctx, variables)
		if err != nil {
			return request, err
		}
		// A name that is empty names no object.
		if err := checkName(name); err != nil && name != "" {
			return request, fmt.Errorf("%s: %w", l.at, err)
		}
		*part.into = name
	}
	return request, nil
}
