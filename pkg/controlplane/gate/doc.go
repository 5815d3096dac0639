// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gate makes gardenlet wait for the webhooks. gardenlet creates an Extension resource of one type in each
// shoot's namespace before it writes the kube-apiserver; the gate sets its status once the webhooks for that control
// plane are installed (docs/decisions/0014-a-gate-without-finalizers.md).
//
// Its caller tells it whether webhooks are installed. It owns nothing in the namespace and has no finalizer, so that
// deletions, forced or not, need no response. It must not use Gardener's library of controllers, which reads whole
// Clusters. Start reading at Gate and Add.
package gate
