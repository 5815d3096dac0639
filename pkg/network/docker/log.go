// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// events maps methods to log lines with their verbosity. Networks change rarely, endpoints with each container.
var events = map[string]struct {
	verbosity int
	words     string
}{
	"NetworkDriver.CreateNetwork":  {0, "A network was made"},
	"NetworkDriver.DeleteNetwork":  {0, "A network was removed"},
	"NetworkDriver.CreateEndpoint": {1, "An endpoint was made"},
	"NetworkDriver.DeleteEndpoint": {1, "An endpoint was removed"},
}

// done logs a success.
func (h *handler) done(method string, about []any) {
	if one, ok := events[method]; ok {
		h.Log.V(one.verbosity).Info(one.words, about...)
	}
}

// failed logs an error for the machine's operator. Docker shows the text to its user only.
func (h *handler) failed(r *http.Request, about []any, p problem, err error) {
	log := h.Log.WithValues("method", wire.Line(strings.TrimPrefix(r.URL.Path, "/")), "status", p.Status).WithValues(about...)
	if p.ours {
		log.Error(cmp.Or(p.Cause, err), "A request failed", "fault", "server")
		return
	}
	verbosity := 0
	if p.Status == http.StatusNotFound { // Docker probes for newer methods this way
		verbosity = 1
	}
	log.V(verbosity).Info("A request was refused", "fault", "caller", "why", wire.Line(p.Message))
}

// aboutOf returns keys and values for the log that identify the objects of a request.
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
		add("subnet", textOf(q.Pool))
	case *addressRequest:
		add("pool", q.PoolID)
		add("address", textOf(q.Address))
	}
	return about
}

// textOf returns the text of a valid value.
func textOf(v interface {
	fmt.Stringer
	IsValid() bool
},
) string {
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

// short returns an identifier in Docker's short form. Other texts are truncated and put on one line.
func short(id string) string {
	const identifier, shown, most = 64, 12, 128
	if len(id) == identifier && !strings.ContainsAny(id, "/.: ") {
		id = id[:shown]
	}
	return wire.Line(id[:min(len(id), most)])
}
