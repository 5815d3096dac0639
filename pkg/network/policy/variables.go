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
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// The objects that expressions see.
var (
	deviceType  = objectOf[deviceObject]("graft.Device")
	requestType = objectOf[requestObject]("graft.Request")
	claimType   = objectOf[Claim]("graft.Claim")
	podType     = objectOf[Pod]("graft.Pod")
)

// deviceObject has the fields of device.
type deviceObject struct{ Name, PCI, MAC string }

// requestObject has the fields of request. Namespace, name and UID are those of the claim, or else of the Pod.
type requestObject struct {
	Contract, Profile, Pool, Node, Parent, Namespace, Name, UID, Network string
	Addresses                                                            []string
	Options                                                              map[string]string
}

// objectOf declares an object with the fields of a struct, in lower case.
func objectOf[T any](name string) *expression.ObjectType {
	fields := map[string]*cel.Type{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		fields[strings.ToLower(field.Name)] = map[reflect.Kind]*cel.Type{
			reflect.String: cel.StringType, reflect.Slice: cel.ListType(cel.StringType), reflect.Map: cel.MapType(cel.StringType, cel.StringType),
		}[field.Type.Kind()]
	}
	return expression.NewObjectType(name, fields)
}

// fieldsOf returns the values of a struct for expressions. Empty texts and lists, and nil mappings, are not set.
func fieldsOf(object any) expression.Values {
	values := expression.Values{}
	of := reflect.ValueOf(object)
	for i := range of.NumField() {
		value := of.Field(i)
		native := value.Interface()
		if value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0 {
			native = expression.Unset{Default: reflect.Zero(value.Type()).Interface()}
		}
		values[strings.ToLower(of.Type().Field(i).Name)] = native
	}
	return values
}

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
		return deviceType.Value(fieldsOf(deviceObject{v.Device.Name, v.Device.PCI, v.Device.MAC})), true
	case "request":
		return requestType.Value(fieldsOf(v.request())), true
	case "claim":
		return claimType.Value(fieldsOf(ptr.Deref(v.Claim, Claim{}))), true
	case "pod":
		return podType.Value(fieldsOf(ptr.Deref(v.Pod, Pod{}))), true
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
		raw = []byte("{}") // every configuration has a form in JSON
	}
	tree, err := expression.ParseJSON(raw)
	if err != nil {
		tree = map[string]any{}
	}
	return expression.Value(tree)
}

// request returns the fields of request.
func (v *view) request() requestObject {
	r := requestObject{
		Contract: v.Contract, Profile: v.Profile, Pool: v.Pool, Node: v.Node, Parent: v.Subject.Parent, Network: v.Network, Options: v.Options,
	}
	for _, address := range v.Addresses {
		r.Addresses = append(r.Addresses, address.String())
	}
	if v.Claim != nil {
		r.Namespace, r.Name, r.UID = v.Claim.Namespace, v.Claim.Name, v.Claim.UID
	} else if v.Pod != nil {
		r.Namespace, r.Name, r.UID = v.Pod.Namespace, v.Pod.Name, v.Pod.UID
	}
	return r
}
