// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the edge of the Gardener wing: it reads AdmissionReviews and answers them, registers the webhooks that
// the loaded profiles need, keeps the certificates, and loads profiles again when they change.
//
// It decides nothing about objects: that is pkg/controlplane/mutation. It must not log or return what is in an object. It is
// the only package that may import Gardener's extensions/pkg/webhook. Enter at Handler for an admission, at Store for the
// profiles in force, at Registrar for the registration and at AddCertificates for the certificates.
package webhook
