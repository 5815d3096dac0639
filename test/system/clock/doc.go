// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package clock holds what becomes of admissions when the clock of a machine jumps beyond the validity of certificates
// and back: the extension, a real etcd and a real kube-apiserver run under user-mode Linux, which has a clock of its
// own, and objects are written all the while. None may pass without its provider's changes, and all are answered again
// before long. What the kubelet does is done by the test: it starts the extension again when it says that it is not
// healthy.
//
// The certificates of the kube-apiserver are made for ten years: they are the business of others. It runs with the
// build tag system. Enter at TestJump.
package clock
