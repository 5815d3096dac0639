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
	const domain = "../../../pkg/interpreter/"
	metrics.Documented(t, "../../../docs/reference/metrics.md", "graft_interpreter_",
		domain+"server", domain+"certificate", domain+"registration", "../../../pkg/profile/watch")
}
