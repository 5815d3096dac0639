// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/url"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// PathPrefix is the path below which admissions are served: /webhooks/<segment>/<set>/<provider>; see Callers.
const PathPrefix = "/webhooks/"

// gardenSegment stands in a path for the provider where the webhook is that of the garden namespace. No provider is called
// so: a label value begins with a letter or a digit.
const gardenSegment = "-garden"

// Route is one webhook as its path names it.
type Route struct {
	Set      target.Set
	Provider string
	Garden   bool
}

// RouteOf is the route of a registration.
func RouteOf(r mutation.Registration) Route {
	return Route{Set: r.Set, Provider: r.Provider, Garden: r.Garden}
}

// Path is the URL path at which the route is served, with a segment that is not empty.
func (r Route) Path(segment string) string {
	prefix := PathPrefix
	if segment != "" {
		prefix += segment + "/"
	}
	if r.Garden {
		return prefix + string(r.Set) + "/" + gardenSegment
	}
	return prefix + string(r.Set) + "/" + url.PathEscape(r.Provider)
}

// parseRoute reads a decoded URL path, with a segment or without; false when it names no set or no provider.
func parseRoute(path string) (Route, bool) {
	_, path = splitPath(path)
	rest, ok := strings.CutPrefix(path, PathPrefix)
	if !ok {
		return Route{}, false
	}
	set, provider, ok := strings.Cut(rest, "/")
	if !ok || provider == "" || strings.Contains(provider, "/") {
		return Route{}, false
	}
	for _, known := range target.Sets() {
		if set == string(known) {
			if provider == gardenSegment {
				return Route{Set: known, Garden: true}, true
			}
			return Route{Set: known, Provider: provider}, true
		}
	}
	return Route{}, false
}

// label is the route's provider as metrics and logs name it.
func (r Route) label() string {
	if r.Garden {
		return "garden"
	}
	return r.Provider
}
