// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the component configurations of Graft's programs: what an installation decides and a profile must
// not. It reads them strictly, sets defaults and validates them; it opens no files and starts nothing. Enter at
// DecodeControllerConfiguration, DecodeNetworkProviderConfiguration and DecodeResourceInterpreterConfiguration.
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the apiVersion of every component configuration.
var GroupVersion = schema.GroupVersion{Group: "graft.provider.extensions.config.gardener.cloud", Version: "v1alpha1"}

// The kinds of configurations, each of one program.
const (
	// KindControllerConfiguration is that of gardener-extension-provider-graft.
	KindControllerConfiguration = "ControllerConfiguration"
	// KindNetworkProviderConfiguration is that of graft-network-provider.
	KindNetworkProviderConfiguration = "NetworkProviderConfiguration"
	// KindResourceInterpreterConfiguration is that of graft-resource-interpreter.
	KindResourceInterpreterConfiguration = "ResourceInterpreterConfiguration"
)
