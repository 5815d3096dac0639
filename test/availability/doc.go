// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package availability checks that admissions continue while replicas of the extension, their certificates, profiles
// and leader, the kube-apiserver and etcd change, stop, hang and return. Real replicas run behind a real Service, and
// clients write real objects through a real kube-apiserver all the time. Each response is checked: a failed call, or
// an object without its provider's changes, fails the test. The Service has the type ExternalName and points to a
// balancer of the test; the kube-apiserver calls it like every Service (HTTP/1.1, a pool of connections). Clocks do not
// change here: test/system/clock changes them. After a clock change certificates are suddenly old, and this test
// creates such certificates directly.
package availability
