// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// draft is a configuration that is not active yet.
type draft struct {
	documents []*profile.Network
	policy    *policy.Policy
	clouds    map[string]service.LimitedCloud
	// declared are all clouds of the documents, also those that could not be made.
	declared map[string]policy.CloudSpec
	// warnings are findings that do not prevent the activation.
	warnings source.Findings
}

// draft compiles the files. Clouds that are declared as in the active configuration are kept; active may be nil.
func (o *Options) draft(files []source.File, active *draft) (*draft, error) {
	documents, findings := profile.LoadNetworks(files...)
	whole, problems := policy.Compile(documents)
	findings = append(findings, problems...)
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, errors.New("no NetworkProfile was found")
	}
	served, err := whole.For(o.Node)
	if err != nil {
		return nil, err
	}
	if !o.Shared {
		findings = append(findings, served.CheckAlone(o.Node, o.EachNode)...)
	}
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	d := &draft{
		documents: documents, policy: served, clouds: map[string]service.LimitedCloud{}, declared: whole.Clouds, warnings: findings,
	}
	if err := d.makeClouds(o, cmp.Or(active, &draft{})); err != nil {
		return nil, err
	}
	return d, nil
}

// makeClouds makes the clouds that are not declared as before. Those without a pool on this server may still have bindings;
// it ignores those of them that cannot be made, because they may belong to another server; their bindings then wait. It
// fails if a cloud with a pool cannot be made.
func (d *draft) makeClouds(o *Options, active *draft) error {
	var problems source.Findings
	for _, name := range slices.Sorted(maps.Keys(d.declared)) {
		spec := d.declared[name]
		old, exists := active.clouds[name]
		if exists && written(active.declared[name].Node) == written(spec.Node) {
			d.clouds[name] = old
			continue
		}
		made, findings := o.Cloud(spec)
		if _, has := d.policy.Clouds[name]; has {
			problems = append(problems, findings.Errors()...)
		}
		d.warnings = append(d.warnings, findings...)
		if made != nil {
			d.clouds[name] = service.LimitedCloud{Cloud: made, Limiter: o.limiter(name, spec, old.Limiter), Settle: o.Settle(spec)}
		}
	}
	return problems.Err()
}

// written returns the content of a declaration without position, order and comments.
func written(n source.Node) string {
	var value any
	if n.Node == nil || n.Decode(&value) != nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// defaultParallel is the default number of concurrent calls to a cloud.
const defaultParallel = 16

// limiter returns the rate limiter of a cloud. It keeps the previous one if the limit is the same, because that one has
// counted the recent requests.
func (o *Options) limiter(name string, spec policy.CloudSpec, before *service.Limiter) *service.Limiter {
	limit := service.Limit{Rate: float64(spec.Limit.Rate), Burst: spec.Limit.Burst, Parallel: spec.Limit.Parallel}
	if limit.Burst == 0 {
		limit.Burst = spec.Limit.Rate
	}
	if limit.Parallel == 0 {
		limit.Parallel = defaultParallel
	}
	if before != nil && before.Limit() == limit {
		return before
	}
	return service.NewLimiter(name, limit, o.Service.Clock)
}

// ledgerPools returns the pools for the ledger.
func (d *draft) ledgerPools() []ledger.Pool {
	var pools []ledger.Pool
	for _, name := range slices.Sorted(maps.Keys(d.policy.Pools)) {
		pools = append(pools, d.policy.Pools[name].Pool)
	}
	return pools
}

// servicePools returns the pools for the service.
func (d *draft) servicePools() map[string]service.Pool {
	pools := map[string]service.Pool{}
	for name, p := range d.policy.Pools {
		pool := service.Pool{Quarantine: p.Quarantine}
		if of, made := d.clouds[p.Cloud]; made {
			pool.Cloud, pool.CloudName, pool.Limiter, pool.Settle = of.Cloud, p.Cloud, of.Limiter, of.Settle
		}
		pools[name] = pool
	}
	return pools
}
