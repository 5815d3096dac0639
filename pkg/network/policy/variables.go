// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// The objects that expressions see.
var (
	texts = cel.ListType(cel.StringType)
	words = cel.MapType(cel.StringType, cel.StringType)

	deviceType = expression.NewObject("graft.Device", map[string]*cel.Type{
		"name": cel.StringType, "pci": cel.StringType, "mac": cel.StringType,
	})
	requestType = expression.NewObject("graft.Request", map[string]*cel.Type{
		"contract": cel.StringType, "profile": cel.StringType, "pool": cel.StringType, "node": cel.StringType, "parent": cel.StringType,
		"namespace": cel.StringType, "name": cel.StringType, "uid": cel.StringType, "addresses": texts,
		"network": cel.StringType, "options": words,
	})
	claimType = expression.NewObject("graft.Claim", map[string]*cel.Type{
		"uid": cel.StringType, "namespace": cel.StringType, "name": cel.StringType, "labels": words, "annotations": words, "pods": texts,
	})
	podType = expression.NewObject("graft.Pod", map[string]*cel.Type{
		"uid": cel.StringType, "namespace": cel.StringType, "name": cel.StringType,
	})
)

// DeviceVariables returns the variables for expressions in device attributes.
func DeviceVariables() []expression.Variable {
	return []expression.Variable{{Name: "device", Object: deviceType}}
}

// Variables returns the variables for all other expressions, except those of clouds.
func Variables() []expression.Variable {
	return append(DeviceVariables(),
		expression.Variable{Name: "request", Object: requestType},
		expression.Variable{Name: "claim", Object: claimType},
		expression.Variable{Name: "pod", Object: podType},
		expression.Variable{Name: "config", Type: cel.DynType, Keys: fields()},
	)
}

// fields returns the fields of a device configuration.
func fields() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[device.Config]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// environments has the environments for expressions: one for a device alone, and one for a request.
type environments struct {
	device, request *expression.Environment
}

var theEnvironments = sync.OnceValues(func() (environments, error) {
	alone, err := expression.NewEnvironment(DeviceVariables()...)
	if err != nil {
		return environments{}, err
	}
	request, err := expression.NewEnvironment(Variables()...)
	return environments{alone, request}, err
})

// Subject describes a request for expressions. Data that the caller omits is empty.
type Subject struct {
	// Contract is the name of the contract; Parent is the MAC address of the interface that carries the VLAN.
	Contract, Profile, Pool, Node, Parent string
	// Network is Docker's identifier of the network, and Options are the options that its user has set.
	Network string
	Options map[string]string

	Device device.Device
	// Config is the requested configuration, and Addresses lists the requested addresses.
	Config    device.Config
	Addresses []netip.Addr
	// Claim and Pod are nil if the caller does not send them.
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

// view is a Subject as an activation of CEL. It must not be used concurrently.
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
		return requestType.Value(requestFields(v.Subject)), true
	case "claim":
		return claimType.Value(claimFields(v.Claim)), true
	case "pod":
		return podType.Value(podFields(v.Pod)), true
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

// valueOf returns a configuration for expressions, without unset fields.
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

// deviceFields returns the fields of device.
func deviceFields(d device.Device) expression.Values {
	return expression.Values{"name": expression.Optional(d.Name), "pci": expression.Optional(d.PCI), "mac": expression.Optional(d.MAC)}
}

// requestFields returns the fields of request. Namespace, name and UID are those of the claim, or else of the Pod.
func requestFields(s *Subject) expression.Values {
	addresses := make([]string, len(s.Addresses))
	for i, address := range s.Addresses {
		addresses[i] = address.String()
	}
	holder := podFields(s.Pod)
	if s.Claim != nil {
		holder = claimFields(s.Claim)
	}
	return expression.Values{
		"contract": expression.Optional(s.Contract), "profile": expression.Optional(s.Profile), "pool": expression.Optional(s.Pool),
		"node": expression.Optional(s.Node), "parent": expression.Optional(s.Parent), "network": expression.Optional(s.Network),
		"options": labels(s.Options), "addresses": list(addresses),
		"namespace": holder["namespace"], "name": holder["name"], "uid": holder["uid"],
	}
}

// claimFields returns the fields of claim; none is set if nothing is known of it.
func claimFields(c *Claim) expression.Values {
	if c == nil {
		c = &Claim{}
	}
	return expression.Values{
		"uid": expression.Optional(c.UID), "namespace": expression.Optional(c.Namespace), "name": expression.Optional(c.Name),
		"labels": labels(c.Labels), "annotations": labels(c.Annotations), "pods": list(c.Pods),
	}
}

// podFields returns the fields of pod; none is set if nothing is known of it.
func podFields(p *Pod) expression.Values {
	if p == nil {
		p = &Pod{}
	}
	return expression.Values{
		"uid": expression.Optional(p.UID), "namespace": expression.Optional(p.Namespace), "name": expression.Optional(p.Name),
	}
}

// labels returns a field that is not set if the mapping is nil.
func labels(m map[string]string) any {
	if m == nil {
		return expression.Unset{Default: map[string]string{}}
	}
	return m
}

// list returns a field that is not set if the list is empty.
func list(texts []string) any {
	if len(texts) == 0 {
		return expression.Unset{Default: []string{}}
	}
	return texts
}
