// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Handler answers requests over HTTP.
type Handler struct {
	options Options
}

// exchange is the state of one request.
type exchange struct {
	Answered
	asked asked
	// body is the body of the request, message that of the answer.
	body, message []byte
}

// Headers of all answers.
var (
	contentType = []string{"application/json"}
	noSniffing  = []string{"nosniff"}
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.ServeIn(r.Context(), w, r) }

// ServeIn works like ServeHTTP, with the given context instead of the request's. The timeout starts now.
func (h *Handler) ServeIn(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	limited, end := context.WithDeadline(ctx, started.Add(h.patience(r)))
	defer end()
	e := &exchange{}
	status := h.serve(limited, e, w, r)
	e.Bytes = len(e.body)
	header := w.Header()
	header["Content-Type"], header["X-Content-Type-Options"] = contentType, noSniffing
	serving.Answer(w, r, status, e.message)
	e.Took = time.Since(started)
	h.options.Answered(e.Answered)
}

// serve returns the HTTP status and stores the message in e. It recovers from panics.
func (h *Handler) serve(ctx context.Context, e *exchange, w http.ResponseWriter, r *http.Request) (status int) {
	defer func() {
		if value := recover(); value != nil {
			status = h.fail(e, &panicked{value, debug.Stack()})
		}
	}()
	if err := h.answer(ctx, e, w, r); err != nil {
		return h.fail(e, err)
	}
	e.Code = http.StatusOK
	return http.StatusOK
}

// answer reads the question and encodes the answer.
func (h *Handler) answer(ctx context.Context, e *exchange, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &interpreter.Failure{Code: http.StatusMethodNotAllowed, Message: "use POST"}
	}
	if err := unencoded(r); err != nil {
		w.Header().Set("Accept-Encoding", "identity")
		return err
	}
	var err error
	if e.body, err = readBody(r, h.options.MaximumBytes); err != nil {
		return err
	}
	if err = e.asked.read(e.body); e.asked.dialect != nil {
		e.Dialect, e.Operation, e.Kind = e.asked.dialect.kind, e.asked.Operation, e.asked.Kind
	}
	if err != nil {
		return err
	}
	given, err := h.interpret(ctx, &e.asked)
	if err != nil {
		return err
	}
	response, err := e.asked.dialect.succeed(e.asked.uid, e.asked.Operation, given)
	if err != nil {
		return err
	}
	e.message, err = encode(message{Group + "/" + Version, e.Dialect, response})
	return err
}

// fail logs err, stores the message of a failed answer in e, and returns the HTTP status.
func (h *Handler) fail(e *exchange, err error) (status int) {
	f, ours := failureOf(err)
	e.Code = f.Code
	log, who := h.options.Log, e.asked.identity
	if who.dialect != nil {
		log = log.WithValues("dialect", e.Dialect, "operation", e.Operation, "kind", line(e.Kind.String()), "uid", line(who.uid))
	} else if who = identify(e.body); who.dialect != nil {
		e.Dialect = who.dialect.kind
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		log.Error(p, "The server panicked: this is a bug", "stack", string(p.stack))
	} else if ours {
		log.Error(err, "A request failed", "code", f.Code)
	} else {
		log.V(1).Info("A request was refused", "code", f.Code, "why", f.Message)
	}
	status, answer := who.fail(f)
	if e.message, err = encode(answer); err != nil {
		return http.StatusInternalServerError
	}
	return status
}

// panicked is a recovered panic.
type panicked struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicked) Error() string { return "panic: " + serving.Panicked(p.value).Error() }

// interpret calls the Interpreter in a goroutine and returns when ctx ends, at the latest. The goroutine releases
// the message.
func (h *Handler) interpret(ctx context.Context, a *asked) (interpreter.Response, error) {
	var response interpreter.Response
	ended := make(chan error, 1)
	release := serving.Hold(ctx)
	go func() {
		defer release()
		var err error
		defer func() {
			if value := recover(); value != nil {
				err = &panicked{value, debug.Stack()}
			}
			ended <- err
		}()
		response, err = h.options.Interpreter.Interpret(ctx, a.Request)
		if why := ctx.Err(); err != nil && why != nil {
			err = why // the Interpreter was interrupted
		}
		a.whole.Release()
	}()
	select {
	case err := <-ended:
		return response, err
	case <-ctx.Done():
		return interpreter.Response{}, ctx.Err()
	}
}

// unencoded fails if the body is compressed or encoded in another way.
func unencoded(r *http.Request) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return &interpreter.Failure{
				Code: http.StatusUnsupportedMediaType, Message: "Content-Encoding is not supported: send the body without compression",
			}
		}
	}
	return nil
}

// readBody reads the body, and returns the read part also with an error. For a body that is too large it discards as
// many bytes again, so that a caller that still sends can read the answer.
func readBody(r *http.Request, maximum int64) ([]byte, error) {
	read, err := serving.ReadAll(r, maximum)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return read, &interpreter.Failure{Code: http.StatusRequestTimeout, Message: "the body did not arrive before the timeout"}
	case err != nil:
		return read, malformed("the body could not be read completely")
	case int64(len(read)) > maximum:
		_, _ = io.CopyN(io.Discard, r.Body, maximum)
		return read, &interpreter.Failure{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", maximum)}
	}
	return read, nil
}

// patience returns the time limit for a request. It is shorter than the caller's timeout, so that the caller
// receives the failure.
func (h *Handler) patience(r *http.Request) time.Duration {
	if said := serving.Timeout(r); said > 0 {
		return min(h.options.Patience, said-min(said/10, time.Second))
	}
	return h.options.Patience
}
