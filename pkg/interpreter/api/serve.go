// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Handler answers requests.
type Handler struct {
	options Options
}

// exchange is one request on its way. Its memory is used again.
type exchange struct {
	Answered
	asked  asked
	answer answer
	// body and message are those of the request and of the answer, for which there is memory in outgoing.
	body, message []byte
	outgoing      []byte
	// left says that something still works on it which nobody waits for.
	left bool
}

// ready is the most memory that is kept for the next answer, in bytes.
const ready = 1 << 20

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// release gives the memory to the next exchange, if it is not too much.
func (e *exchange) release() {
	if e.left || cap(e.outgoing) > ready {
		return
	}
	*e = exchange{outgoing: e.outgoing[:0]}
	exchanges.Put(e)
}

// What the headers of all answers say.
var (
	contentType = []string{"application/json"}
	noSniffing  = []string{"nosniff"}
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.ServeIn(r.Context(), w, r) }

// ServeIn is ServeHTTP for a context that is not that of the request. A caller waits from now on.
func (h *Handler) ServeIn(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	limited := serving.EndAt(ctx, started.Add(h.patience(r)))
	defer limited.End()
	e := exchanges.Get().(*exchange)
	defer e.release()
	status := h.serve(limited, e, w, r)
	e.Bytes = len(e.body)
	header := w.Header()
	header["Content-Type"], header["X-Content-Type-Options"] = contentType, noSniffing
	header["Content-Length"] = []string{strconv.Itoa(len(e.message))}
	w.WriteHeader(status)
	_, _ = w.Write(e.message) // that a caller has left is nobody's error
	e.Took = time.Since(started)
	h.options.Answered(e.Answered)
}

// serve gives the status of the answer, and its message in the exchange, whatever happens on the way to it.
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

// answer reads the question, and writes the message of the answer.
func (h *Handler) answer(ctx context.Context, e *exchange, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &interpreter.Failure{Code: http.StatusMethodNotAllowed, Message: "questions are asked by POST"}
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
	if e.answer, err = h.interpret(ctx, e); err != nil {
		return err
	}
	if e.message, err = e.asked.dialect.succeed(e.outgoing[:0], e.asked.uid, &e.answer); err == nil {
		e.outgoing = e.message
	}
	return err
}

// fail gives the status of an answer that is none, and its message in the exchange, and logs why.
func (h *Handler) fail(e *exchange, err error) (status int) {
	f, ours := failureOf(err)
	e.Code = f.Code
	log, who := h.options.Log, identity{e.asked.dialect, e.asked.uid}
	if who.dialect != nil {
		log = log.WithValues("dialect", e.Dialect, "operation", e.Operation, "kind", line(e.Kind.String()), "uid", line(who.uid))
	} else if who = identify(e.body); who.dialect != nil {
		e.Dialect = who.dialect.kind
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		log.Error(p, "A question made the server panic", "stack", string(p.stack))
	} else if ours {
		log.Error(err, "A question failed", "code", f.Code)
	} else {
		log.V(1).Info("A question was refused", "code", f.Code, "why", f.Message)
	}
	status, answer := who.fail(f)
	if e.message, err = encode(answer); err != nil {
		return http.StatusInternalServerError
	}
	return status
}

func encode(body any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return buffer.Bytes(), nil
}

// panicked is what the server panicked with.
type panicked struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicked) Error() string { return "panic: " + serving.Panicked(p.value).Error() }

// outcome is how work has ended.
type outcome struct {
	answer answer
	err    error
}

// interpret asks the interpreter, and comes back in time.
func (h *Handler) interpret(ctx context.Context, e *exchange) (answer, error) {
	if h.options.Prompt && len(e.body) <= smallBody {
		return h.ask(ctx, &e.asked)
	}
	return h.interpretAside(ctx, e)
}

// ask asks the interpreter, and releases the message: answers are checked in its memory, as they are short beside it.
func (h *Handler) ask(ctx context.Context, a *asked) (answer, error) {
	var complete answer
	response, err := h.options.Interpreter.Interpret(ctx, a.Request)
	if err == nil {
		complete, err = answerOf(a.Operation, response, a.whole.Root())
	} else if ended := ctx.Err(); ended != nil {
		err = ended // which is why it was broken off
	}
	a.whole.Release()
	return complete, err
}

// smallBody is a body about which a prompt Interpreter is asked without a goroutine, in bytes. A caller waits in vain then for as long as one call of one
// function in a rule takes on a text of that length, such as a pattern that is looked for: a millisecond, where the rule is not made to take long. With
// larger bodies that would be longer than a caller should wait, and a goroutine costs little beside what they cost.
const smallBody = 8 << 10

// interpretAside asks the interpreter, and comes back in time whatever that does. The message is released by whoever was asked, and never under its hands.
func (h *Handler) interpretAside(ctx context.Context, e *exchange) (answer, error) {
	ended := make(chan outcome, 1)
	release := serving.Hold(ctx)
	go func() {
		defer release()
		var o outcome
		defer func() {
			if value := recover(); value != nil {
				o.err = &panicked{value, debug.Stack()}
			}
			ended <- o
		}()
		makeRoom(len(e.body))
		o.answer, o.err = h.ask(ctx, &e.asked)
	}()
	select {
	case o := <-ended:
		return o.answer, o.err
	case <-ctx.Done():
		e.left = true
		return answer{}, ctx.Err()
	}
}

// makeRoom makes the stack of a goroutine as large as most rules need, at once and while there is nothing on it: growing step by step with all the calls
// of an expression on it took a fifth of the time of small questions.
//
//go:noinline
func makeRoom(length int) byte {
	var room [8 << 10]byte
	return room[length%len(room)] // so that it is not left out
}

// unencoded holds that a body comes as it is: what was compressed, or changed in another way, is not undone.
func unencoded(r *http.Request) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return &interpreter.Failure{
				Code: http.StatusUnsupportedMediaType, Message: "questions are read as they are: a Content-Encoding, such as gzip, is not undone",
			}
		}
	}
	return nil
}

// readBody reads a body. What there is of it is given also with an error. Of one that is too large, as much again is read, so that a caller that is still
// sending comes to read the answer.
func readBody(r *http.Request, maximum int64) ([]byte, error) {
	read, err := serving.ReadAll(r, maximum)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return read, &interpreter.Failure{Code: http.StatusRequestTimeout, Message: "the body did not come in time"}
	case err != nil:
		return read, malformed("the body could not be read to its end")
	case int64(len(read)) > maximum:
		_, _ = io.CopyN(io.Discard, r.Body, maximum)
		return read, &interpreter.Failure{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", maximum)}
	}
	return read, nil
}

// patience is how long is worked for a request: less than its caller waits, so that it learns what happened.
func (h *Handler) patience(r *http.Request) time.Duration {
	if said := serving.Timeout(r); said > 0 {
		return min(h.options.Patience, said-min(said/10, time.Second))
	}
	return h.options.Patience
}
