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

// PathPrefix is the prefix of the paths of admissions: /webhooks/<segment>/<set>/<provider>; see Callers.
const PathPrefix = "/webhooks/"

// gardenSegment replaces the provider in the path of the webhook for the garden namespace. It is no valid
// provider, because a label value starts with a letter or a digit.
const gardenSegment = "-garden"

// Route identifies a webhook by its path.
type Route struct {
	Set      target.Set
	Provider string
	Garden   bool
}

// RouteOf returns the route of a registration.
func RouteOf(r mutation.Registration) Route {
	return Route{Set: r.Set, Provider: r.Provider, Garden: r.Garden}
}

// Path returns the URL path of the route, with the segment unless it is empty.
func (r Route) Path(segment string) string {
	provider := url.PathEscape(r.Provider)
	if r.Garden {
		provider = gardenSegment
	}
	return withSegment(PathPrefix+string(r.Set)+"/"+provider, segment)
}

// withSegment returns a path with the segment, unless it is empty.
func withSegment(path, segment string) string {
	if segment == "" {
		return path
	}
	return PathPrefix + segment + "/" + strings.TrimPrefix(path, PathPrefix)
}

// parseRoute parses a decoded URL path, with or without segment. It returns false without a valid set and
// provider.
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

// label returns the provider's name in metrics and logs.
func (r Route) label() string {
	if r.Garden {
		return "garden"
	}
	return r.Provider
}
