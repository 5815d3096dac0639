// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// failure is the body of an error. Docker's client reads Err if the status is not 200 (pkg/plugins). The IPAM
// driver reads Error if it is 200.
type failure struct {
	Err   string `json:"Err"`
	Error string `json:"Error,omitempty"`
}

// failureOf returns the error body for a path.
func failureOf(path, message string) failure {
	f := failure{Err: cmp.Or(wire.Line(message), "it failed")}
	if strings.HasPrefix(path, "/IpamDriver.") {
		f.Error = f.Err
	}
	return f
}

// Refuse writes an error in the form of the API, for requests that are rejected before they reach the codec.
func Refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	p.Header(w)
	wire.WriteAs(w, p.Status, mediaType, failureOf(r.URL.Path, p.Message))
}

// cannot is an error for an operation that is not supported. Its text is for users.
type cannot string

// Error implements error.
func (c cannot) Error() string { return string(c) }

// fail logs an error and writes it. A readable request gets status 200, as the API requires, independent of the
// fault.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, about []any, err error) {
	p := problemOf(err)
	h.failed(r, about, p, err)
	h.Failed(Endpoint(r.URL.Path), p.ours)
	Refuse(w, r, &p.Problem)
}

// problem is an error with its status.
type problem struct {
	wire.Problem
	// ours is true for a fault of the server or the machine.
	ours bool
}

func problemOf(err error) problem {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return problem{Problem: *p, ours: p.Status >= http.StatusInternalServerError}
	}
	if _, ok := errors.AsType[cannot](err); ok || known(err) {
		return problem{Problem: wire.Problem{Status: http.StatusOK, Message: err.Error()}}
	}
	p := problem{Problem: *wire.ProblemOf(err)}
	p.ours = p.Status == http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) && p.Status == http.StatusGatewayTimeout {
		p.ours = true
	}
	p.Status, p.RetryAfter = http.StatusOK, 0
	return p
}

// forPeople lists the errors with texts for users, in addition to those of package wire.
var forPeople = []error{
	driver.ErrUnknownNetwork, driver.ErrUnknownEndpoint, driver.ErrImpossible, policy.ErrDenied, link.ErrImpossible, link.ErrNoSegment,
	ipam.ErrUnknown, ipam.ErrRequest,
}

// known reports whether an error's text is for users. They can act on errors of the kernel, but not on those of
// files.
func known(err error) bool {
	if slices.ContainsFunc(forPeople, func(one error) bool { return errors.Is(err, one) }) {
		return true
	}
	_, ofKernel := errors.AsType[syscall.Errno](err)
	_, ofFile := errors.AsType[*fs.PathError](err)
	return ofKernel && !ofFile
}
