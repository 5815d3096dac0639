// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

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

// environments compile expressions: about a device alone, and about a request.
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
