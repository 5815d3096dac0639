// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of lint beside those of all documents.
const (
	// WrongPath is a text that is no path, or the path of what must not be changed.
	WrongPath source.Rule = "wrong-path"
	// NothingToDo is a rule that changes nothing.
	NothingToDo source.Rule = "nothing-to-do"
	// WrittenTwice is a place that a rule writes twice.
	WrittenTwice source.Rule = "written-twice"
	// Conflict is a place that two rules write which always apply.
	Conflict source.Rule = "conflict"
	// ComponentsRevised is a kind with components that is also revised. It is a warning for the server, which does not register the components.
	ComponentsRevised source.Rule = "components-revised"
	// NoEffect is a place that a later rule always writes again.
	NoEffect source.Rule = "no-effect"
)
