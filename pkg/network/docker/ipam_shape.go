// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

// These types match libnetwork's ipams/remote/api, which has no JSON tags.

// ipamCapabilities is the response of GetCapabilities.
type ipamCapabilities struct {
	RequiresMACAddress    bool
	RequiresRequestReplay bool
}

// addressSpaces is the response of GetDefaultAddressSpaces.
type addressSpaces struct {
	LocalDefaultAddressSpace  string
	GlobalDefaultAddressSpace string
}

// poolRequest is the request of RequestPool. ReleasePool uses only PoolID.
type poolRequest struct {
	PoolID       string
	AddressSpace string
	Pool         string
	SubPool      string
	Options      map[string]string
	V6           bool
}

// poolResponse is the response of RequestPool.
type poolResponse struct {
	PoolID string
	Pool   string
	Data   map[string]string
}

// addressRequest is the request of RequestAddress and ReleaseAddress.
type addressRequest struct {
	PoolID  string
	Address string
	Options map[string]string
}

// addressResponse is the response of RequestAddress.
type addressResponse struct {
	Address string
	Data    map[string]string
}
