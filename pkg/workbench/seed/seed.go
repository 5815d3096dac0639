// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package seed reads the control planes that a seed has now: their namespaces and Clusters, the objects that profiles have rules for, and
// what lookups name. It can ask the API server what the installed webhooks would make of an object, by updates that are a dry run.
//
// It changes nothing: every request is a GET, or a PUT with dryRun=All, but for the patches without content of graft drift --touch. It speaks HTTP itself,
// as Kubernetes' typed clients and schemes cost more at start than the rest of graft, and as objects keep their bytes so. Enter at Connect and
// Seed.Scene, and for drift at NewEngine.
package seed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Connection says which seed is meant.
type Connection struct {
	// Kubeconfig is a file; empty: that of KUBECONFIG, or else ~/.kube/config, or of the pod. Context is one in it; empty: the current.
	Kubeconfig, Context string
}

// How fast requests follow each other, in requests a second, and how many may do so at once after a pause.
const (
	requestRate  = 50
	requestBurst = 100
)

// Seed is a seed that can be read. It is safe for concurrent use.
type Seed struct {
	host    *url.URL
	client  *http.Client
	limiter flowcontrol.RateLimiter
	kinds   kinds
}

// Connect reads the kubeconfig. No request is made.
func Connect(c Connection) (*Seed, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "graft"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the seed: %w", err)
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the seed: %w", err)
	}
	host.Path = strings.TrimSuffix(host.Path, "/")
	return &Seed{host: host, client: client, limiter: flowcontrol.NewTokenBucketRateLimiter(requestRate, requestBurst)}, nil
}

// Host is where the API server is, for messages.
func (s *Seed) Host() string { return s.host.String() }

// Error is an answer of the API server other than success. Its message names objects and never holds their content, but for what
// webhooks say.
type Error struct {
	Verb, Path string
	Code       int
	Reason     metav1.StatusReason
	Message    string
}

// Error is what the API server says.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s %s: HTTP status %d", e.Verb, e.Path, e.Code)
	}
	return e.Message
}

// notFound says whether the error is of an object, or a kind, that is not there.
func notFound(err error) bool { return hasCode(err, http.StatusNotFound) }

func hasCode(err error, code int) bool {
	var answer *Error
	return errors.As(err, &answer) && answer.Code == code
}

// attempts is how often a request is made that the API server puts off.
const attempts = 5

// What one attempt may take, and how large an answer may be: a page of 250 objects, each of which has less than two megabytes in etcd, and seldom half of one.
const (
	callTimeout = time.Minute
	mostBytes   = 256 << 20
)

// body is what a request carries. The zero body is none.
type body struct {
	media string
	raw   []byte
}

// do makes a request and returns the answer's body.
func (s *Seed) do(ctx context.Context, verb, path string, query url.Values, body body) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		answer, pause, err := s.once(ctx, verb, path, query, body)
		if pause == 0 || attempt == attempts {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// once makes a request; a pause says after how long to try again.
func (s *Seed) once(ctx context.Context, verb, path string, query url.Values, body body) (answer []byte, pause time.Duration, err error) {
	if err := s.limiter.Wait(ctx); err != nil {
		return nil, 0, cmp.Or(context.Cause(ctx), context.DeadlineExceeded) // it does not wait where the time would not do
	}
	bounded, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	target := *s.host
	target.Path += path
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(bounded, verb, target.String(), bytes.NewReader(body.raw))
	if err != nil {
		return nil, 0, fmt.Errorf("asking the seed: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if body.media != "" {
		request.Header.Set("Content-Type", body.media)
	}
	response, err := s.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, fmt.Errorf("asking the seed: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := drift.ReadAnswer(response.Body, mostBytes)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return raw, 0, nil
	}
	failure := &Error{Verb: verb, Path: path, Code: response.StatusCode}
	var status metav1.Status
	if json.Unmarshal(raw, &status) == nil && status.Kind == "Status" {
		failure.Reason, failure.Message = status.Reason, status.Message
	}
	return nil, retryAfter(response), failure
}

// retryAfter is after how long the API server wants to be asked again; 0: not at all.
func retryAfter(response *http.Response) time.Duration {
	const longest = 10 * time.Second
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longest)
}

// resource names objects of a kind in a namespace; no namespace: in none, or in all.
type resource struct {
	schema.GroupVersion
	plural, namespace string
}

// path is that of the objects, or of one of them.
func (r resource) path(name string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.namespace != "" {
		path += "/namespaces/" + url.PathEscape(r.namespace)
	}
	path += "/" + r.plural
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

func (s *Seed) get(ctx context.Context, r resource, name string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, r.path(name), nil, body{})
}

// page is how many objects are read at a time.
const page = 250

// restarts is how often a list is begun anew whose next page the API server does not have any more.
const restarts = 2

// list calls each for the objects of a kind, when all pages of them are read.
func (s *Seed) list(ctx context.Context, r resource, labels string, each func(json.RawMessage) error) error {
	items, err := s.pages(ctx, r, labels)
	for begun := 0; hasCode(err, http.StatusGone) && begun < restarts; begun++ {
		items, err = s.pages(ctx, r, labels)
	}
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

// pages reads a list page by page. The error has the code http.StatusGone when it took longer than the API server keeps the list.
func (s *Seed) pages(ctx context.Context, r resource, labels string) ([]json.RawMessage, error) {
	query := url.Values{"limit": {strconv.Itoa(page)}}
	if labels != "" {
		query.Set("labelSelector", labels)
	}
	var items []json.RawMessage
	for {
		raw, err := s.do(ctx, http.MethodGet, r.path(""), query, body{})
		if err != nil {
			return nil, err
		}
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("reading a list of %s: %w", r.plural, err)
		}
		if items = append(items, list.Items...); list.Metadata.Continue == "" {
			return items, nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}
