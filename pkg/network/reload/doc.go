// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reload activates NetworkProfiles: all of them together or none. It compiles them, refuses what would take held addresses
// out of their pools, and keeps what was active before where anything is wrong. A document that is broken never takes the server down.
//
// It opens no files, stores or clouds itself. Enter at Open, or at Check where nothing is to be activated.
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
	// LeftAlone are the files in folders that Read takes for no profiles; nil: nobody is told.
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
	// Guard does what puts an active policy in place of another, unless something that only it knows is in the way: then it gives the error, and is asked
	// again later. nil: nothing is.
	Guard func(ctx context.Context, next *policy.Policy, put func() error) error
	// Service are the options of the service; its clock is that of the gates too.
	Service service.Options
	// Metrics may be nil.
	Metrics *Metrics
	Log     logr.Logger
}
