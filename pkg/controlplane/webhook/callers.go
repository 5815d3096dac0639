// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// settle is the time that healthy replicas and API servers need to notice a write.
const settle = time.Minute

// Segment is a secret part of the webhooks' paths that authenticates the API server, which reads it from the
// registration.
type Segment struct {
	Value string
	// Since is the time of its creation.
	Since time.Time
}

// segmentOf derives the segment of a CA from its private key. It is as random as the key, is stored and rotated
// with it, and does not reveal it.
func segmentOf(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("path segment of graft's webhooks"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Callers decides which clients may request admissions: those with a segment of a CA.
type Callers struct {
	// Segments returns the segments of the CAs.
	Segments func() []Segment
	// Certificates requires a client certificate, which the TLS server has verified.
	Certificates bool
	Metrics      *Metrics
}

// Allow reports whether a client may request admissions. It answers and counts a rejected request, and reveals
// no reason to the client.
func (c *Callers) Allow(w http.ResponseWriter, r *http.Request) bool {
	if c.Certificates && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
		c.Metrics.unauthorized.WithLabelValues("certificate").Inc()
		w.WriteHeader(http.StatusForbidden)
		return false
	}
	if segment, _ := splitPath(r.URL.Path); !c.accepts(segment) {
		c.Metrics.unauthorized.WithLabelValues("path").Inc()
		w.WriteHeader(http.StatusNotFound)
		return false
	}
	return true
}

// accepts compares segments in constant time.
func (c *Callers) accepts(segment string) bool {
	equal := 0
	for _, one := range c.Segments() {
		equal |= subtle.ConstantTimeCompare([]byte(one.Value), []byte(segment))
	}
	return equal == 1
}

// splitPath removes the segment from the path of a webhook: /webhooks/<segment>/<set>/<provider>. The segment
// is "" if there is none.
func splitPath(path string) (segment, rest string) {
	tail, ok := strings.CutPrefix(path, PathPrefix)
	if !ok || strings.Count(tail, "/") != 2 {
		return "", path
	}
	segment, tail, _ = strings.Cut(tail, "/")
	return segment, PathPrefix + tail
}

// pathOf returns the path at which a webhook is called.
func pathOf(w *admissionregistrationv1.MutatingWebhook) string {
	switch {
	case w.ClientConfig.Service != nil && w.ClientConfig.Service.Path != nil:
		return *w.ClientConfig.Service.Path
	case w.ClientConfig.URL != nil:
		_, path, _ := strings.Cut(strings.TrimPrefix(*w.ClientConfig.URL, "https://"), "/")
		return "/" + path
	default:
		return ""
	}
}

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
	set, provider, _ := strings.Cut(rest, "/")
	switch {
	case !ok || provider == "" || strings.Contains(provider, "/") || !slices.Contains(target.Sets(), target.Set(set)):
		return Route{}, false
	case provider == gardenSegment:
		return Route{Set: target.Set(set), Garden: true}, true
	default:
		return Route{Set: target.Set(set), Provider: provider}, true
	}
}

// label returns the provider's name in metrics and logs.
func (r Route) label() string {
	if r.Garden {
		return "garden"
	}
	return r.Provider
}
