// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// networkProfile returns the schema of NetworkProfiles. Device settings have the fields of a device's
// configuration.
func networkProfile() (object, error) {
	b := newBuilder()
	config, err := b.shape(reflect.TypeFor[device.Config]())
	if err != nil {
		return nil, err
	}
	b.special[reflect.TypeFor[v1alpha1.NetworkConfig]()] = func() (object, error) { return config, nil }
	return b.top(reflect.TypeFor[v1alpha1.NetworkProfile](), reflect.Value{}, v1alpha1.GroupVersion.String(), v1alpha1.KindNetworkProfile)
}
