// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// validate checks explicit values beyond the limits in the fields' tags. Defaults are set later and valid.
func (c *ControllerConfiguration) validate(root source.Node) source.Findings {
	v := validator{root: root}
	v.address(true, c.Server.MetricsBindAddress, "server", "metricsBindAddress")
	v.address(false, c.Server.HealthBindAddress, "server", "healthBindAddress")
	if c.Webhook.SyncPeriod.Set && c.Webhook.SyncPeriod.Seconds() < 1 {
		v.add("must be at least 1s", "webhook", "syncPeriod")
	}
	v.debugging(c.Debugging)
	v.paths(c.Profiles.Paths)
	if c.Gate.Type != "" && len(validation.IsDNS1123Label(c.Gate.Type)) > 0 {
		v.add("must have only lower case letters, digits and '-': gardenlet creates objects with this name", "gate", "type")
	}
	return v.findings
}

type validator struct {
	root     source.Node
	findings source.Findings
}

func (v *validator) add(message string, keys ...string) {
	v.findings = append(v.findings, find(v.root, keys...).Finding(strings.Join(keys, "."), "%s", message).Of(source.WrongValue))
}

func (v *validator) debugging(d Debugging) {
	if d.ContentionProfiling && !d.Profiling {
		v.add("needs debugging.profiling", "debugging", "contentionProfiling")
	}
}

// paths reports empty and duplicate entries of profiles.paths.
func (v *validator) paths(paths []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "" || seen[path] {
			v.add("has an empty or duplicate entry: "+strconv.Quote(path), "profiles", "paths")
		}
		seen[path] = true
	}
}

func (v *validator) written(keys []string) bool { return !find(v.root, keys...).Absent() }

func (v *validator) address(zero bool, value string, keys ...string) {
	if !v.written(keys) || (zero && value == "0") {
		return
	}
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		v.add("must be host:port or :port", keys...)
	}
}
