// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of what cannot be written in Lua.
const (
	// NotInLua is something that cannot be said in Lua for Karmada.
	NotInLua source.Rule = "not-in-lua"
	// OpenVersions is a rule for all versions of a group where it is not known which these are.
	OpenVersions source.Rule = "open-versions"
)
