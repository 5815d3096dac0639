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

// failure is the body of what does not succeed. Docker's client reads Err of every answer that is not 200 (pkg/plugins), the IPAM driver's Error of
// those that are.
type failure struct {
	Err   string `json:"Err"`
	Error string `json:"Error,omitempty"`
}

// failureOf is the body that says why a path failed.
func failureOf(path, message string) failure {
	f := failure{Err: cmp.Or(wire.Line(message), "it failed")}
	if strings.HasPrefix(path, "/IpamDriver.") {
		f.Error = f.Err
	}
	return f
}

// Refuse answers a problem in the form of the contract: for what is refused before the codec is asked.
func Refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	p.Header(w)
	wire.WriteAs(w, p.Status, mediaType, failureOf(r.URL.Path, p.Message))
}

// cannot is what can be read, and cannot be done; its text is for people.
type cannot string

// Error implements error.
func (c cannot) Error() string { return string(c) }

// fail answers with an error, and logs it. What was read is answered with 200, as the contract wants it, whoever's fault it is.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, about []any, err error) {
	p := problemOf(err)
	h.failed(r, about, p, err)
	h.Failed(Endpoint(r.URL.Path), p.ours)
	Refuse(w, r, &p.Problem)
}

// problem is an error as it is answered.
type problem struct {
	wire.Problem
	// ours says that it is the server's own fault, or that of the machine.
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

// forPeople are the errors whose texts are for the people who asked, beside those that all contracts know.
var forPeople = []error{
	driver.ErrUnknownNetwork, driver.ErrUnknownEndpoint, driver.ErrImpossible, policy.ErrDenied, link.ErrImpossible, link.ErrNoSegment,
	ipam.ErrUnknown, ipam.ErrRequest,
}

// known says whether the text of an error is for the people who asked: they can do something about what the kernel says, too, but not about files.
func known(err error) bool {
	if slices.ContainsFunc(forPeople, func(one error) bool { return errors.Is(err, one) }) {
		return true
	}
	_, ofKernel := errors.AsType[syscall.Errno](err)
	_, ofFile := errors.AsType[*fs.PathError](err)
	return ofKernel && !ofFile
}
