// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds what the charts tell Prometheus and Plutono against what the programs count: its tests let Prometheus' own engine fire every alert
// by the cases in testdata, and parse every expression of alerts and dashboards. The metrics come from docs/reference/metrics.md, which is generated from the
// source. There is nothing here for programs; enter at TestAlerts.
package monitoring
