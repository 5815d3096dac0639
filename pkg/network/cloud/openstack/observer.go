// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Metrics count the calls of all clouds of this kind.
type Metrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	create := promauto.With(registry)
	return &Metrics{
		calls: create.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_openstack_calls_total",
			Help: "Calls of Neutron and Keystone, by HTTP status; the code is error if there was no answer.",
		}, []string{"call", "code"}),
		duration: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "graft_network_openstack_call_duration_seconds",
			Help: "Duration of calls of Neutron and Keystone.",
			// A lookup takes a few milliseconds; creating ports in bulk takes seconds.
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"call"}),
	}
}

// observer counts the calls of one cloud, and its failures in a row.
type observer struct {
	metrics  *Metrics
	clock    clock.PassiveClock
	failures atomic.Int64
}

// maximumAnswer limits an answer; a list of 4094 sub-ports has about 600 KiB.
const maximumAnswer = 16 << 20

// observe returns a transport that counts calls and limits answers.
func (o *observer) observe(next http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		began, name := o.clock.Now(), callName(r)
		response, err := next.RoundTrip(r)
		code := "error"
		if err == nil {
			code = strconv.Itoa(response.StatusCode)
			response.Body = http.MaxBytesReader(nil, response.Body, maximumAnswer)
		}
		switch {
		case err == nil && response.StatusCode < http.StatusInternalServerError:
			o.failures.Store(0)
		case !errors.Is(err, context.Canceled):
			o.failures.Add(1)
		}
		if o.metrics != nil {
			o.metrics.calls.WithLabelValues(name, code).Inc()
			o.metrics.duration.WithLabelValues(name).Observe(o.clock.Since(began).Seconds())
		}
		return response, err
	})
}

// collections are the last words of paths that become values of a label.
var collections = []string{
	"ports", "trunks", "add_subports", "remove_subports", "subnets", "networks", "extensions", "quotas", "tokens",
}

// callName returns the name of a call in metrics, such as post ports.
func callName(r *http.Request) string {
	name := "other"
	for part := range strings.SplitSeq(r.URL.Path, "/") {
		if slices.Contains(collections, part) {
			name = part
		}
	}
	return strings.ToLower(r.Method) + " " + name
}

// apiError is an answer of Neutron or Keystone that is an error.
type apiError struct {
	doing  string
	status int
	// kind is the name of Neutron's exception, such as IpAddressAlreadyAllocated, or "".
	kind, message string
}

// Error implements error.
func (e *apiError) Error() string {
	text := fmt.Sprintf("%s: OpenStack answered %d", e.doing, e.status)
	if e.kind != "" {
		text += " " + e.kind
	}
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// statusOf returns the HTTP status of an error, or 0 if there was no answer.
func statusOf(err error) int {
	if answered, ok := errors.AsType[*apiError](err); ok {
		return answered.status
	}
	return 0
}

// longestMessage limits messages for users, in bytes.
const longestMessage = 300

// newAPIError reads an answer. The body is not part of the error, apart from Neutron's own message.
func newAPIError(doing string, answer gophercloud.ErrUnexpectedResponseCode) *apiError {
	e := &apiError{doing: doing, status: answer.Actual}
	var body struct {
		NeutronError struct{ Type, Message string }
	}
	if json.Unmarshal(answer.Body, &body) == nil {
		e.kind, e.message = body.NeutronError.Type, serving.Line(body.NeutronError.Message, longestMessage)
	}
	return e
}

// The pauses after failures in a row. The service calls no cloud that is paused, and tells callers why.
const (
	toleratedFailures = 5
	firstPause        = 2 * time.Second
	longestPause      = time.Minute
	// quotaPause is short, because releases, which free quota, wait as well.
	quotaPause = 5 * time.Second
)

// errOverQuota is the error of a call that exceeds a quota of the project.
var errOverQuota = errors.New("the quota of the project is used up")

// failure returns the error for a failed call: an apiError, a cloud.RetryAfter if OpenStack sent Retry-After or has
// failed several times in a row, or the reason why there was no answer. It contains no URL and no body.
func (o *observer) failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	if renewing, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		err = renewing.ErrReauth // the answer of Keystone
	}
	var failed error
	if answer, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		e := newAPIError(doing, answer)
		if later, ok := cloud.ParseRetryAfter(e.Error(), e.status, answer.ResponseHeader, o.clock.Now()); ok {
			return later
		}
		if e.kind == "OverQuota" {
			return fmt.Errorf("%w: %w", errOverQuota, cloud.NewRetryAfter(quotaPause, e.Error()))
		}
		failed = e
	} else if called, ok := errors.AsType[*url.Error](err); ok {
		failed = fmt.Errorf("%s: %w", doing, called.Err)
	} else if called, ok := errors.AsType[net.Error](err); ok {
		failed = fmt.Errorf("%s: %w", doing, called)
	} else {
		failed = fmt.Errorf("%s: %w", doing, err)
	}
	over := o.failures.Load() - toleratedFailures
	if over < 0 || errors.Is(err, context.Canceled) {
		return failed
	}
	pause := min(longestPause, firstPause<<min(over, 5))
	return cloud.NewRetryAfter(pause, fmt.Sprintf("OpenStack has failed %d times in a row, at last %s", over+toleratedFailures, failed))
}
