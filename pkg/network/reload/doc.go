// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reload activates NetworkProfiles: all of them together or none. It compiles them, refuses changes that would
// remove allocated addresses from their pools, and keeps the active configuration on any error. A broken document never
// stops the server.
//
// It opens no files, stores or clouds itself. Start reading at Open, or at Check, which activates nothing.
package reload

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options are those of an installation.
type Options struct {
	// Read reads the files with the profiles.
	Read func() ([]source.File, error)
	// LeftAlone returns the files in folders that Read does not treat as profiles; it may be nil.
	LeftAlone func() []string
	// Node is the one that is served; empty: the server is for many.
	Node string
	// EachNode says that other nodes have servers with the same profiles, as a DaemonSet makes them.
	EachNode bool
	// Shared says that several servers share the ledger.
	Shared bool
	// Clouds makes clouds as they are declared.
	Clouds func(map[string]policy.CloudSpec) (map[string]cloud.Cloud, source.Findings)
	// Settle returns how long after its begin a call of a cloud may still take effect.
	Settle func(policy.CloudSpec) time.Duration
	// Guard calls put, which activates the policy, unless it has a reason to refuse: then it returns an error, and is
	// called again later. It may be nil.
	Guard func(ctx context.Context, next *policy.Policy, put func() error) error
	// Service are the options of the service; its clock is that of the gates too.
	Service service.Options
	// Metrics may be nil.
	Metrics *Metrics
	Log     logr.Logger
}
