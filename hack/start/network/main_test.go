// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestAddressIn(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"an address", `{"interface":{"addresses":["10.0.0.1/24"]}}`, "10.0.0.1/24"},
		{"no JSON", `x`, ""},
		{"no address", `{"interface":{}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := addressIn(c.answer)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
