// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

const (
	// APIVersion is the apiVersion of a customization.
	APIVersion = "config.karmada.io/v1alpha1"
	// Kind is the kind of a customization.
	Kind = "ResourceInterpreterCustomization"
)

// Customization is one ResourceInterpreterCustomization: the scripts that Karmada runs for one kind in one version.
type Customization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata contains the name of a customization.
type Metadata struct {
	Name string `json:"name"`
}

// Spec is the content of a customization.
type Spec struct {
	Target         Target         `json:"target"`
	Customizations Customizations `json:"customizations"`
}

// Target identifies the kind that a customization applies to.
type Target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Customizations contains a script for each operation.
type Customizations struct {
	Retention                *Script `json:"retention,omitempty"`
	ReplicaResource          *Script `json:"replicaResource,omitempty"`
	ComponentResource        *Script `json:"componentResource,omitempty"`
	ReplicaRevision          *Script `json:"replicaRevision,omitempty"`
	StatusReflection         *Script `json:"statusReflection,omitempty"`
	StatusAggregation        *Script `json:"statusAggregation,omitempty"`
	HealthInterpretation     *Script `json:"healthInterpretation,omitempty"`
	DependencyInterpretation *Script `json:"dependencyInterpretation,omitempty"`
}

// Script is a script in Lua.
type Script struct {
	LuaScript string `json:"luaScript"`
}

// Of returns the script for an operation, or nil if there is none. Karmada has no script for Prune.
func (c *Customizations) Of(operation interpreter.Operation) *Script {
	if place := c.place(operation); place != nil {
		return *place
	}
	return nil
}

// place returns the field for an operation's script, or nil if Karmada has none.
func (c *Customizations) place(operation interpreter.Operation) **Script {
	return map[interpreter.Operation]**Script{
		interpreter.Replicas: &c.ReplicaResource, interpreter.Components: &c.ComponentResource, interpreter.Revise: &c.ReplicaRevision,
		interpreter.Retain: &c.Retention, interpreter.Aggregate: &c.StatusAggregation, interpreter.Status: &c.StatusReflection,
		interpreter.Health: &c.HealthInterpretation, interpreter.Dependencies: &c.DependencyInterpretation,
	}[operation]
}

// newCustomization returns a customization without scripts.
func newCustomization(kind interpreter.Kind) Customization {
	version, name := kind.Version, []string{"graft", kind.Kind, kind.Version}
	if kind.Group != "" {
		version, name = kind.Group+"/"+kind.Version, append(name, kind.Group)
	}
	return Customization{
		APIVersion: APIVersion, Kind: Kind, Metadata: Metadata{Name: strings.ToLower(strings.Join(name, "."))},
		Spec: Spec{Target: Target{APIVersion: version, Kind: kind.Kind}},
	}
}
