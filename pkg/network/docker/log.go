// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// events are the methods whose success is logged, with the verbosity and the words. Networks come and go seldom, endpoints with each container.
var events = map[string]struct {
	verbosity int
	words     string
}{
	"NetworkDriver.CreateNetwork":  {0, "A network was made"},
	"NetworkDriver.DeleteNetwork":  {0, "A network was removed"},
	"NetworkDriver.CreateEndpoint": {1, "An endpoint was made"},
	"NetworkDriver.DeleteEndpoint": {1, "An endpoint was removed"},
}

// done logs what has succeeded.
func (h *handler) done(method string, about []any) {
	if one, ok := events[method]; ok {
		h.Log.V(one.verbosity).Info(one.words, about...)
	}
}

// failed logs what has not: Docker shows the text to whoever asked, and not to who keeps the machine.
func (h *handler) failed(r *http.Request, about []any, p problem, err error) {
	log := h.Log.WithValues("method", wire.Line(strings.TrimPrefix(r.URL.Path, "/")), "status", p.Status).WithValues(about...)
	if p.ours {
		log.Error(cmp.Or(p.Cause, err), "A request failed", "fault", "server")
		return
	}
	verbosity := 0
	if p.Status == http.StatusNotFound { // Docker asks so whether a driver knows a newer method
		verbosity = 1
	}
	log.V(verbosity).Info("A request was refused", "fault", "caller", "why", wire.Line(p.Message))
}

// aboutOf is what a request is about, as keys and values of a log; nothing where it names nothing.
func aboutOf(asked any) []any {
	var about []any
	add := func(key, id string) {
		if id != "" {
			about = append(about, key, short(id))
		}
	}
	switch q := asked.(type) {
	case *networkRequest:
		add("network", q.NetworkID)
	case *allocationRequest:
		add("network", q.NetworkID)
	case *endpointRequest:
		add("network", q.NetworkID)
		add("endpoint", q.EndpointID)
	case *poolRequest:
		add("pool", q.PoolID)
		add("subnet", q.Pool)
	case *addressRequest:
		add("pool", q.PoolID)
		add("address", q.Address)
	}
	return about
}

// short is an identifier as Docker's lists show it; what else a caller writes is one line, and not a long one.
func short(id string) string {
	const identifier, shown, most = 64, 12, 128
	if len(id) == identifier && !strings.ContainsAny(id, "/.: ") {
		id = id[:shown]
	}
	return wire.Line(id[:min(len(id), most)])
}
