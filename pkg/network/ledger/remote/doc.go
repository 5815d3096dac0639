// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package remote gives access to a ledger while a server uses it: an HTTP handler for the server's admin socket, and
// its client, which reads the ledger like a store. The socket is next to the ledger, and users who may open the ledger
// may use it; there is no other access control.
//
//	GET  /v1/rows      ?prefix= or ?key=                          rows as {"value":{"key":…,"value":…}}, the value in base64
//	POST /v1/release   {"owner":{"contract":…,"key":…}}           the allocation as {"value":{…}}
//	POST /v1/gc        ?dryRun=true                               allocations without holders as {"value":{…}}
//
// An answer consists of lines of JSON. The last one is {"end":true} or {"error":"…"}; without it, the answer is
// incomplete. The package uses no concrete store and starts no listener. Start reading at New and Dial.
package remote

import (
	"encoding/json"
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// message is one line of an answer.
type message struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	End   bool            `json:"end,omitempty"`
}

// row is a row of the store.
type row struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// released is the request to release an owner's allocation.
type released struct {
	Owner network.Owner `json:"owner"`
}

// Suspect is an allocation with a holder that probably no longer exists.
type Suspect struct {
	Allocation network.Allocation `json:"allocation"`
	// Reason explains why, and Freed whether it was released.
	Reason string `json:"reason"`
	Freed  bool   `json:"freed"`
}

// Problem is an error with its HTTP status.
type Problem struct {
	Status  int
	Message string
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Is reports that a status of 404 for an owner is network.ErrNotHeld.
func (p *Problem) Is(target error) bool {
	return target == network.ErrNotHeld && p.Status == http.StatusNotFound && p.Message == network.ErrNotHeld.Error()
}

// ErrNoCluster means that holders cannot be queried, so that no allocation can be released.
var ErrNoCluster = &Problem{http.StatusNotImplemented, "the server has no Kubernetes client to check which owners exist: set kubernetes.kubeconfig"}
