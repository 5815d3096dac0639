// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

// TestMetricsAreDocumented compares the list of metrics with the metrics of the program.
func TestMetricsAreDocumented(t *testing.T) {
	const domain = "../../../pkg/network/"
	metrics.Documented(t, "../../../docs/reference/metrics.md", "graft_network_",
		domain+"installation", domain+"server", domain+"reload", domain+"cloud/openstack", "../../../pkg/profile/watch")
}
