// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package webhook is the HTTP interface of the control-plane extension: it decodes and answers
// AdmissionReviews, registers the webhooks that the loaded profiles need, maintains the certificates, and
// reloads changed profiles.
//
// It makes no decisions about objects; pkg/controlplane/mutation does. It must not log or return content of
// objects. Only this package may import Gardener's extensions/pkg/webhook. Start reading at Handler for an
// admission, at Store for the active profiles, at Registrar for the registration and at AddCertificates for the
// certificates.
package webhook
