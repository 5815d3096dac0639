// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gate makes gardenlet wait for the webhooks: it answers the Extension resources of one type, which gardenlet makes in the namespace of each shoot before
// it writes the kube-apiserver, once the webhooks for that control plane are in place (docs/decisions/0014-a-gate-without-finalizers.md).
//
// It decides nothing about webhooks: what is in place is asked of whoever adds it. It owns nothing in the namespace, and so has no finalizer: deletion, forced or
// not, needs no answer. It must not use Gardener's library of controllers, which reads whole Clusters. Enter at Gate and Add.
package gate
