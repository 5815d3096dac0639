// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package configuration contains the objects that register webhooks with Karmada, with their defaults and
// validation: the ResourceInterpreterWebhookConfiguration that Karmada ships, and the
// ResourceExploringWebhookConfiguration of the earlier proposal.
//
// It does no input or output and calls no webhook. Start reading at the two types, or at Interpreter and
// Exploring, which generate them for the kinds that have rules.
package configuration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

const (
	// APIVersion is the apiVersion of the objects of both dialects.
	APIVersion = "config.karmada.io/v1alpha1"
	// KindInterpreter is the kind that Karmada ships.
	KindInterpreter = "ResourceInterpreterWebhookConfiguration"
	// KindExploring is the kind of the proposal.
	KindExploring = "ResourceExploringWebhookConfiguration"

	// All matches all operations, groups, versions, kinds or resources. It must be the only entry.
	All = "*"

	// DefaultTimeoutSeconds is the timeout of a webhook that sets none.
	DefaultTimeoutSeconds = 10
	// LeastTimeoutSeconds is the shortest timeout that a webhook can set.
	LeastTimeoutSeconds = 1
	// MostTimeoutSeconds is the longest timeout that a webhook can set.
	MostTimeoutSeconds = 30

	// DefaultServicePort is the port of a service that sets none.
	DefaultServicePort = 443
)

// versions lists the supported versions of messages.
var versions = []string{"v1alpha1"}

// Version returns the first of the preferred versions that is supported. It fails if there is none.
func Version(preferred []string) (string, error) {
	for _, version := range preferred {
		if slices.Contains(versions, version) {
			return version, nil
		}
	}
	return "", fmt.Errorf("none of the versions [%s] is supported; supported is %s", strings.Join(preferred, ", "), strings.Join(versions, ", "))
}

// defaultClient sets the defaults of a client configuration.
func defaultClient(c *admissionv1.WebhookClientConfig) {
	if c.Service != nil {
		orDefault(&c.Service.Port, DefaultServicePort)
	}
}

func orDefault[T any](value **T, otherwise T) {
	if *value == nil {
		*value = &otherwise
	}
}
