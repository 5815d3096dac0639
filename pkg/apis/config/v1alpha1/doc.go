// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the component configurations of Graft's programs: settings that an installation
// decides, not a profile. It decodes them strictly, sets defaults and validates them; it opens no files and
// starts nothing. Start reading at DecodeControllerConfiguration, DecodeNetworkProviderConfiguration and
// DecodeResourceInterpreterConfiguration.
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the apiVersion of every component configuration.
var GroupVersion = schema.GroupVersion{Group: "graft.provider.extensions.config.gardener.cloud", Version: "v1alpha1"}

// The kinds of configurations, one for each program.
const (
	// KindControllerConfiguration is the kind for gardener-extension-provider-graft.
	KindControllerConfiguration = "ControllerConfiguration"
	// KindNetworkProviderConfiguration is the kind for graft-network-provider.
	KindNetworkProviderConfiguration = "NetworkProviderConfiguration"
	// KindResourceInterpreterConfiguration is the kind for graft-resource-interpreter.
	KindResourceInterpreterConfiguration = "ResourceInterpreterConfiguration"
)
