// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// validate checks what was written; what was not is filled in later and right by construction.
func (c *ControllerConfiguration) validate(root source.Node) source.Findings {
	v := validator{root: root}
	v.number(bound{1, 100000}, int64(c.ClientConnection.QPS), "clientConnection", "qps")
	v.number(bound{1, 100000}, int64(c.ClientConnection.Burst), "clientConnection", "burst")
	v.number(bound{1, 65535}, int64(c.Server.WebhookPort), "server", "webhookPort")
	v.number(bound{64 << 10, 256 << 20}, int64(c.Webhook.MaxReviewBytes), "webhook", "maxReviewBytes")
	v.number(bound{1, 30}, int64(c.Webhook.TimeoutSeconds), "webhook", "timeoutSeconds")
	v.oneOf([]string{"Fail", "Ignore"}, c.Webhook.FailurePolicy, "webhook", "failurePolicy")
	v.oneOf([]string{"debug", "info", "error"}, c.Logging.Level, "logging", "level")
	v.oneOf([]string{"json", "text"}, c.Logging.Format, "logging", "format")
	v.address(true, c.Server.MetricsBindAddress, "server", "metricsBindAddress")
	v.address(false, c.Server.HealthBindAddress, "server", "healthBindAddress")
	if c.Webhook.SyncPeriod.Set && c.Webhook.SyncPeriod.Seconds() < 1 {
		v.add("must be at least 1s", "webhook", "syncPeriod")
	}
	if c.Debugging.ContentionProfiling && !c.Debugging.Profiling {
		v.add("needs debugging.profiling", "debugging", "contentionProfiling")
	}
	seen := map[string]bool{}
	for _, path := range c.Profiles.Paths {
		if path == "" || seen[path] {
			v.add("has an empty or a double entry: "+strconv.Quote(path), "profiles", "paths")
		}
		seen[path] = true
	}
	return v.findings
}

type validator struct {
	root     source.Node
	findings source.Findings
}

func (v *validator) add(message string, keys ...string) {
	v.findings = append(v.findings, find(v.root, keys...).Finding(strings.Join(keys, "."), "%s", message))
}

func (v *validator) written(keys []string) bool { return !find(v.root, keys...).Absent() }

func (v *validator) number(b bound, value int64, keys ...string) {
	if v.written(keys) && (value < b.least || value > b.most) {
		v.add("must be "+b.String(), keys...)
	}
}

func (v *validator) oneOf(known []string, value string, keys ...string) {
	if v.written(keys) && !slices.Contains(known, value) {
		v.add("must be one of "+strings.Join(known, ", ")+source.Suggest(value, known), keys...)
	}
}

func (v *validator) address(zero bool, value string, keys ...string) {
	if !v.written(keys) || (zero && value == "0") {
		return
	}
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		v.add("must be host:port or :port", keys...)
	}
}
