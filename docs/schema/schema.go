// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package schema holds the JSON Schemas of the documents that people write, as hack/reference made them, for programs that show them. Enter at Kinds.
package schema

import _ "embed"

// ProviderProfile is the schema of profiles.
//
//go:embed providerprofile.json
var ProviderProfile []byte

// NetworkProfile is the schema of network profiles.
//
//go:embed networkprofile.json
var NetworkProfile []byte

// InterpreterProfile is the schema of interpreter profiles.
//
//go:embed interpreterprofile.json
var InterpreterProfile []byte

// ControllerConfiguration is the schema of the configuration of the extension.
//
//go:embed controllerconfiguration.json
var ControllerConfiguration []byte

// NetworkProviderConfiguration is the schema of the configuration of graft-network-provider.
//
//go:embed networkproviderconfiguration.json
var NetworkProviderConfiguration []byte

// ResourceInterpreterConfiguration is the schema of the configuration of graft-resource-interpreter.
//
//go:embed resourceinterpreterconfiguration.json
var ResourceInterpreterConfiguration []byte
