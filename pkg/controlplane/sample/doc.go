// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package sample writes the objects of a shoot's control plane, for tests, previews and demonstrations. Today's
// generation is written by Gardener's own component code, called as gardenlet calls it; the older generation, which the
// text of the control-plane webhook contract describes, is written here by hand.
//
// It must not be used on the way of a real admission, and it is the only package that may import Gardener's
// pkg/component. It talks to no cluster, generates no keys and reads no clock, so that the same options always give the
// same bytes; no package variable of Gardener is replaced for that, hence calls may run at the same time.
//
// Enter at ControlPlane, VirtualGarden or Legacy; Cluster and Namespace give what belongs around the objects, and Facts what expressions see of both.
package sample
