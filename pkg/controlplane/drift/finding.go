// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// State says what is with an object.
type State string

// The states of objects that are found.
const (
	// Unmutated: the profiles change it, and it has no mark: no webhook has seen it.
	Unmutated State = "unmutated"
	// Outdated: the profiles change it, and its mark names other versions of profiles.
	Outdated State = "outdated"
	// Edited: the profiles change it, and its mark names the versions that are given: it was written later without the webhook, or what the rules
	// look up has changed.
	Edited State = "edited"
	// Marked: it is as the profiles want it, and its mark names another version. Nothing is to be done, as long as no rule is gone that wrote into a pod
	// template, a unit or a file: nobody has recorded that.
	Marked State = "marked"
	// Denied: the profiles refuse it.
	Denied State = "denied"
	// Unknown: what the profiles make of it is not known, since what they read is not there or cannot be read.
	Unknown State = "unknown"
)

// States are all of them.
func States() []State { return []State{Unmutated, Outdated, Edited, Marked, Denied, Unknown} }

// Drifted says that the object is not what the profiles make of it, and would be after it was touched.
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

// String is the object as people name it.
func (o Object) String() string { return o.Kind + " " + o.Name }

// Same says whether two are one object, for different webhooks perhaps.
func (o Object) Same(other Object) bool {
	return o.Namespace == other.Namespace && o.Group == other.Group && o.Resource == other.Resource && o.Name == other.Name
}

// path is where the API server has the object.
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
	// Rules are those that would change it; none where only what rules wrote that are gone would be taken back.
	Rules []string `json:"rules,omitempty"`
	// Problem is why it is denied or not known.
	Problem string `json:"problem,omitempty"`
}

// Versions is the mark in one word.
func (f Finding) Versions() string { return strings.Join(f.Mark, ",") }
