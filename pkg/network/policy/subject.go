// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"net/netip"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// Subject is who asks for what, as expressions see it. What the caller has not said is empty.
type Subject struct {
	// Contract is the name of the wire; Parent is the MAC address of the interface that carries the VLAN.
	Contract, Profile, Pool, Node, Parent string
	// Network is Docker's identifier of the network, and Options are those that its user has given by name.
	Network string
	Options map[string]string

	Device device.Device
	// Config is what was asked for, and Addresses what of it is asked for by name.
	Config    device.Config
	Addresses []netip.Addr
	// Claim and Pod are nil where the caller says nothing of them.
	Claim *Claim
	Pod   *Pod
}

// Claim is a ResourceClaim.
type Claim struct {
	UID, Namespace, Name string
	Labels, Annotations  map[string]string
	// Pods are the UIDs of the pods that it is reserved for.
	Pods []string
}

// Pod is a pod.
type Pod struct {
	UID, Namespace, Name string
}

// view is a Subject as an activation of CEL; it is for one evaluation after the other.
type view struct {
	*Subject
	config ref.Val
}

// ResolveName implements interpreter.Activation.
func (v *view) ResolveName(name string) (any, bool) {
	switch name {
	case "device":
		return deviceType.Value(deviceFields(v.Device)), true
	case "request":
		return requestType.Value((*requestFields)(v.Subject)), true
	case "claim":
		return claimType.Value((*claimFields)(v.Claim)), true
	case "pod":
		return podType.Value((*podFields)(v.Pod)), true
	case "config":
		if v.config == nil {
			v.config = valueOf(v.Config)
		}
		return v.config, true
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (v *view) Parent() interpreter.Activation { return nil }

// valueOf is a configuration as expressions see it: what is not set is not there.
func valueOf(c device.Config) ref.Val {
	raw, err := json.Marshal(c)
	if err != nil {
		return expression.Value(map[string]any{})
	}
	tree, err := expression.ParseJSON(raw)
	if err != nil {
		return expression.Value(map[string]any{})
	}
	return expression.Value(tree)
}

// said is a text of which has() is false where it is empty.
func said(text string) (any, bool) { return text, text != "" }

// deviceFields are the fields of device.
type deviceFields device.Device

// Field implements expression.Fields.
func (d deviceFields) Field(name string) (any, bool) {
	switch name {
	case "name":
		return said(d.Name)
	case "pci":
		return said(d.PCI)
	case "mac":
		return said(d.MAC)
	}
	return nil, false
}

// requestFields are the fields of request.
type requestFields Subject

// Field implements expression.Fields.
func (r *requestFields) Field(name string) (any, bool) {
	switch name {
	case "contract":
		return said(r.Contract)
	case "profile":
		return said(r.Profile)
	case "pool":
		return said(r.Pool)
	case "node":
		return said(r.Node)
	case "parent":
		return said(r.Parent)
	case "network":
		return said(r.Network)
	case "options":
		return notNil(r.Options), r.Options != nil
	case "addresses":
		texts := make([]string, len(r.Addresses))
		for i, address := range r.Addresses {
			texts[i] = address.String()
		}
		return texts, len(texts) > 0
	}
	// Of whom it is: of the claim where there is one, else of the pod.
	if r.Claim != nil {
		return (*claimFields)(r.Claim).Field(name)
	}
	return (*podFields)(r.Pod).Field(name)
}

// claimFields are the fields of claim; nil: nothing is known of it.
type claimFields Claim

// Field implements expression.Fields.
func (c *claimFields) Field(name string) (any, bool) {
	known := c != nil
	if !known {
		c = &claimFields{}
	}
	switch name {
	case "uid":
		return said(c.UID)
	case "namespace":
		return said(c.Namespace)
	case "name":
		return said(c.Name)
	case "labels":
		return notNil(c.Labels), known && c.Labels != nil
	case "annotations":
		return notNil(c.Annotations), known && c.Annotations != nil
	case "pods":
		return c.Pods, len(c.Pods) > 0
	}
	return nil, false
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// podFields are the fields of pod; nil: nothing is known of it.
type podFields Pod

// Field implements expression.Fields.
func (p *podFields) Field(name string) (any, bool) {
	if p == nil {
		p = &podFields{}
	}
	switch name {
	case "uid":
		return said(p.UID)
	case "namespace":
		return said(p.Namespace)
	case "name":
		return said(p.Name)
	}
	return nil, false
}
