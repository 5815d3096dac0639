// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package sample writes the objects of a shoot's control plane, for tests, previews and demonstrations. Gardener's own
// component code writes those of the current generation, called as gardenlet calls it; the older generation, which the text
// of the control-plane webhook contract describes, is written here by hand.
//
// It must not be used in an admission, and it is the only package that may import Gardener's pkg/component. It connects
// to no cluster, generates no keys and reads no clock, so that the same options always produce the same bytes. It
// changes no package variables of Gardener, so that calls may run concurrently.
//
// Start reading at ControlPlane, VirtualGarden or Legacy; Cluster and Namespace return the resources around the
// objects.
package sample
