// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package charts installs every chart, with all values that there are for it in hack/charts/values, in a real kube-apiserver with the
// definitions of Gardener, prometheus-operator and cert-manager: nothing in a manifest may be unknown or invalid there. It holds Pods against
// Kubernetes' own security standards, roles against what accounts may do, and upgrades against what earlier versions have installed. It has no
// controllers: nothing runs. Enter at TestInstall.
package charts
