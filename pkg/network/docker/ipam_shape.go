// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

// The shapes are those of libnetwork's ipams/remote/api, which have no tags either.

// ipamCapabilities answer GetCapabilities.
type ipamCapabilities struct {
	RequiresMACAddress    bool
	RequiresRequestReplay bool
}

// addressSpaces answer GetDefaultAddressSpaces.
type addressSpaces struct {
	LocalDefaultAddressSpace  string
	GlobalDefaultAddressSpace string
}

// poolRequest is RequestPool's; ReleasePool has the PoolID alone.
type poolRequest struct {
	PoolID       string
	AddressSpace string
	Pool         string
	SubPool      string
	Options      map[string]string
	V6           bool
}

// poolResponse answers RequestPool.
type poolResponse struct {
	PoolID string
	Pool   string
	Data   map[string]string
}

// addressRequest is RequestAddress' and ReleaseAddress'.
type addressRequest struct {
	PoolID  string
	Address string
	Options map[string]string
}

// addressResponse answers RequestAddress.
type addressResponse struct {
	Address string
	Data    map[string]string
}
