// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
)

// interpreterProfile returns the schema of InterpreterProfiles.
func interpreterProfile() (object, error) {
	return newBuilder().top(reflect.TypeFor[v1alpha1.InterpreterProfile](), reflect.Value{}, v1alpha1.GroupVersion.String(), v1alpha1.KindInterpreterProfile)
}
