// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// State is the state of an object.
type State string

// The states of objects that are found.
const (
	// Unmutated: the profiles change it, and it has no mark: no webhook has seen it.
	Unmutated State = "unmutated"
	// Outdated: the profiles change it, and its mark names other versions of profiles.
	Outdated State = "outdated"
	// Edited: the profiles change it, although its mark names the current versions: it was later written without the
	// webhook, or the objects of lookups have changed.
	Edited State = "edited"
	// Marked: the profiles do not change it, but its mark names another version. Nothing needs to be done, unless a
	// removed rule wrote a pod template, a unit or a file, which is not recorded.
	Marked State = "marked"
	// Denied: the profiles refuse it.
	Denied State = "denied"
	// Unknown: the result of the profiles is unknown, because an object that they read is missing or unreadable.
	Unknown State = "unknown"
)

// States returns all states.
func States() []State { return []State{Unmutated, Outdated, Edited, Marked, Denied, Unknown} }

// Drifted reports whether the object differs from the result of the profiles and a touch would fix it.
func (s State) Drifted() bool { return s == Unmutated || s == Outdated || s == Edited }

// Object names an object, and the webhook that is for it.
type Object struct {
	Set target.Set `json:"set"`
	// Provider is the value of the set's namespace label; empty for the garden namespace, which Garden says.
	Provider string `json:"provider,omitempty"`
	Garden   bool   `json:"garden,omitempty"`

	Namespace string `json:"namespace"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Resource  string `json:"resource"`
	Name      string `json:"name"`
}

// String returns the kind and the name of the object.
func (o Object) String() string { return o.Kind + " " + o.Name }

// Same reports whether both are the same object, possibly for different webhooks.
func (o Object) Same(other Object) bool {
	return o.Namespace == other.Namespace && o.Group == other.Group && o.Resource == other.Resource && o.Name == other.Name
}

// path returns the API path of the object.
func (o Object) path() string {
	return pathOf(target.Form{Group: o.Group, Version: o.Version, Resource: o.Resource}, o.Namespace, o.Name)
}

// Finding is an object that is not as it should be.
type Finding struct {
	Object
	// Target is its name in the contract.
	Target string `json:"target"`
	State  State  `json:"state"`
	// Mark are the versions of profiles under which it was mutated last, as its mark says: <profile>@<beginning of the hash>.
	Mark []string `json:"mark,omitempty"`
	// Rules lists the rules that would change it. It is empty if only values of removed rules would be restored.
	Rules []string `json:"rules,omitempty"`
	// Problem is why it is denied or not known.
	Problem string `json:"problem,omitempty"`
}

// Versions returns the mark as one string.
func (f Finding) Versions() string { return strings.Join(f.Mark, ",") }
