// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// The rules of what operations are given.
const (
	// NothingToDo is an operation that changes nothing.
	NothingToDo source.Rule = "nothing-to-do"
	// WrongTarget is an operation or an argument that is not for the target.
	WrongTarget source.Rule = "wrong-target"
	// OtherOperation is an edit for which there is an operation of its own.
	OtherOperation source.Rule = "other-operation"
	// WrongShape is a value that is not what Kubernetes has in the place.
	WrongShape source.Rule = "wrong-shape"
	// WrittenTwice is a place that one rule writes twice.
	WrittenTwice source.Rule = "written-twice"
	// MisplacedField is a field that says what is said already, or cannot be said there.
	MisplacedField source.Rule = "misplaced-field"
	// UnknownKubeletField is a field that the kubelet's configuration does not have, or not in a version.
	UnknownKubeletField source.Rule = "unknown-kubelet-field"
	// WrongUnit is a text that systemd does not read as a unit, or a section that it does not read.
	WrongUnit source.Rule = "wrong-unit"
	// WrongPath is a text that is no path, or a path that cannot be edited.
	WrongPath source.Rule = "wrong-path"
)
