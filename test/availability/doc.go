// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package availability checks that admissions go on while replicas of the extension, their certificates, their profiles,
// their leader, the kube-apiserver and etcd change, end, hang and come back. Real replicas stand behind a real Service,
// steady clients write real objects through a real kube-apiserver, and each answer is looked at: a call that failed, or
// an object without its provider's changes, is never passed over in silence.
//
// The Service is of the type ExternalName, which leads to a balancer of the test; the kube-apiserver calls it as it
// calls every Service (HTTP/1.1, a pool of connections). Clocks are left alone: test/system/clock lets one jump. What a
// jump does is that certificates are suddenly old, which is what the test makes of them here.
package availability
