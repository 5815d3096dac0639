// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package configuration has the objects by which Karmada learns of webhooks, in both dialects: ResourceInterpreterWebhookConfiguration as it is shipped,
// and ResourceExploringWebhookConfiguration of the proposal before it, with the defaults and the rules that their texts state.
//
// It reads and writes nothing, and calls no webhook. Enter at ResourceInterpreterWebhookConfiguration and ResourceExploringWebhookConfiguration, or at
// Interpreter and Exploring, which write them from the kinds for which there are rules.
package configuration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

const (
	// APIVersion is that of the objects of both dialects.
	APIVersion = "config.karmada.io/v1alpha1"
	// KindInterpreter is the kind as it is shipped.
	KindInterpreter = "ResourceInterpreterWebhookConfiguration"
	// KindExploring is that of the proposal.
	KindExploring = "ResourceExploringWebhookConfiguration"

	// All stands for all operations, groups, versions, kinds or resources, and must be alone then.
	All = "*"

	// DefaultTimeoutSeconds is how long a webhook is waited for where it does not say so.
	DefaultTimeoutSeconds = 10
	// LeastTimeoutSeconds is the least that it can say.
	LeastTimeoutSeconds = 1
	// MostTimeoutSeconds is the most.
	MostTimeoutSeconds = 30

	// DefaultServicePort is the port of a service that names none.
	DefaultServicePort = 443
)

// versions are those of messages that are spoken here.
var versions = []string{"v1alpha1"}

// Version is the version in which a webhook is asked: the first of its list that is spoken here. That there is none is an error.
func Version(preferred []string) (string, error) {
	for _, version := range preferred {
		if slices.Contains(versions, version) {
			return version, nil
		}
	}
	return "", fmt.Errorf("none of the versions [%s] is supported; there is %s", strings.Join(preferred, ", "), strings.Join(versions, ", "))
}

// defaultClient writes down what is meant where nothing is said.
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
