// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package schema

import _ "embed"

// ProviderProfileTest is the schema of tables of tests.
//
//go:embed providerprofiletest.json
var ProviderProfileTest []byte

// InterpreterProfileTest is the schema of tables of tests for interpreter profiles.
//
//go:embed interpreterprofiletest.json
var InterpreterProfileTest []byte

// Kind is a kind of documents that has a schema.
type Kind struct {
	// Name is the kind, or what documents without a kind are called.
	Name string
	// File is the name of the schema's file in this folder.
	File string
	// Documents are the files for which it is.
	Documents string
	// Schema is the JSON Schema, draft 7.
	Schema []byte
}

// Kinds are all kinds. To add one: a line here, and one in hack/reference.
func Kinds() []Kind {
	return []Kind{
		{"ProviderProfile", "providerprofile.json", "profiles", ProviderProfile},
		{"NetworkProfile", "networkprofile.json", "network profiles", NetworkProfile},
		{"InterpreterProfile", "interpreterprofile.json", "interpreter profiles", InterpreterProfile},
		{"ProviderProfileTest", "providerprofiletest.json", "tables of tests for graft test", ProviderProfileTest},
		{"InterpreterProfileTest", "interpreterprofiletest.json", "tables of tests for interpreter profiles", InterpreterProfileTest},
		{"ControllerConfiguration", "controllerconfiguration.json", "the configuration of the extension", ControllerConfiguration},
		{"NetworkProviderConfiguration", "networkproviderconfiguration.json", "the configuration of graft-network-provider", NetworkProviderConfiguration},
		{"ResourceInterpreterConfiguration", "resourceinterpreterconfiguration.json", "the configuration of graft-resource-interpreter",
			ResourceInterpreterConfiguration},
	}
}
