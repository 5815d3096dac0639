// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener installs Graft in a real Gardener, runs the flow of a Shoot there, upgrades and moves Graft, and
// uninstalls it. gardener-apiserver stands behind a kube-apiserver; gardener-controller-manager, gardenlet and
// gardener-resource-manager are programs of the Gardener module too (hack/tools/gardener). The cluster is garden and
// seed at the same time.
//
// Nothing but the kubelet, the built-in controllers, etcd-druid, prometheus-operator and the cloud is played by the
// tests: machine_test.go runs the programs of Deployments in networks of their own and reports other workloads as
// ready, cloud_test.go answers extension resources. garden_test.go starts what is real. The Shoot of shoot_test.go is
// hibernated, as no API server of its cluster runs: Gardener writes all objects of the control plane, with no
// replicas. The specs in gardener_test.go are ordered: each goes on from where the one before it ended.
package gardener
