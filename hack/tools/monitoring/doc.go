// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package monitoring compares alerts and dashboards of the charts with the metrics of the programs: its tests let
// Prometheus' own engine fire every alert for the cases in testdata, and parse every expression of alerts and
// dashboards. The metrics come from docs/reference/metrics.md, which is generated from the source. Programs do not use
// this package. Start reading at TestAlerts.
package monitoring
