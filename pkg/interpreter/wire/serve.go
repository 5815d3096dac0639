// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire

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

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// handler answers requests.
type handler struct {
	Options
}

// exchange is one request on its way.
type exchange struct {
	Answered
	body  []byte
	asked *asked
	log   logr.Logger
	// buffer is the memory of the body; left says that something still works on it which nobody waits for.
	buffer *bytes.Buffer
	left   bool
}

// buffers are used again for bodies that are not too large.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// release gives the memory of the body to the next exchange.
func (e *exchange) release() {
	if e.buffer != nil && !e.left && e.buffer.Cap() <= ready {
		buffers.Put(e.buffer)
	}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	e := &exchange{log: h.Log}
	defer e.release()
	status, body := h.serve(e, w, r)
	e.Bytes = len(e.body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // that a caller has left is nobody's error
	e.Took = time.Since(started)
	h.Answered(e.Answered)
}

// serve gives the status and the body of the answer, whatever happens on the way to it.
func (h *handler) serve(e *exchange, w http.ResponseWriter, r *http.Request) (status int, body []byte) {
	defer func() {
		if value := recover(); value != nil {
			status, body = e.fail(&panicked{value, debug.Stack()})
		}
	}()
	answered, err := h.answer(e, w, r)
	if err != nil {
		return e.fail(err)
	}
	e.Code = http.StatusOK
	return http.StatusOK, answered
}

// answer reads the question, and gives the body of the answer.
func (h *handler) answer(e *exchange, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, &interpreter.Failure{Code: http.StatusMethodNotAllowed, Message: "questions are asked by POST"}
	}
	if err := unencoded(r); err != nil {
		w.Header().Set("Accept-Encoding", "identity")
		return nil, err
	}
	var err error
	e.buffer = buffers.Get().(*bytes.Buffer)
	e.buffer.Reset()
	if e.body, err = readBody(e.buffer, r.Body, r.ContentLength, h.MaximumBytes); err != nil {
		return nil, err
	}
	if e.asked, err = read(e.body); e.asked != nil {
		e.Dialect, e.Operation, e.Kind = e.asked.dialect.kind, e.asked.Operation, e.asked.Kind
		e.log = e.log.WithValues("dialect", e.Dialect, "operation", e.Operation, "kind", line(e.Kind.String()), "uid", line(e.asked.uid))
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.patience(r))
	defer cancel()
	response, err := h.interpret(ctx, e)
	if err != nil {
		return nil, err
	}
	return e.asked.encode(response)
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

// encode gives the body of an answer.
func (a *asked) encode(response interpreter.Response) ([]byte, error) {
	complete, err := answerOf(a.Operation, response)
	if err != nil {
		return nil, err
	}
	body, err := a.dialect.succeed(a.uid, complete)
	if err != nil {
		return nil, err
	}
	encoded, err := encode(body)
	if err != nil || complete.status == nil {
		return encoded, err
	}
	return withStatus(encoded, a.dialect.status, complete.status), nil
}

// withStatus adds a status to the response of a message, which is the last of it and has a field already.
func withStatus(message []byte, field string, status []byte) []byte {
	end := bytes.LastIndex(message, []byte("}}"))
	whole := make([]byte, 0, len(message)+len(field)+len(status)+4)
	whole = append(append(append(whole, message[:end]...), `,"`...), field...)
	return append(append(append(whole, `":`...), status...), message[end:]...)
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

// fail gives the status and the body of an answer that is none, and logs why.
func (e *exchange) fail(err error) (int, []byte) {
	f, ours := failureOf(err)
	e.Code = f.Code
	if p, ok := errors.AsType[*panicked](err); ok {
		e.log.Error(p, "A question made the server panic", "stack", string(p.stack))
	} else if ours {
		e.log.Error(err, "A question failed", "code", f.Code)
	} else {
		e.log.V(1).Info("A question was refused", "code", f.Code, "why", f.Message)
	}
	var who identity
	if e.asked != nil {
		who = identity{e.asked.dialect, e.asked.uid}
	} else if who = identify(e.body); who.dialect != nil {
		e.Dialect = who.dialect.kind
	}
	status, answer := who.fail(f)
	body, err := encode(answer)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return status, body
}

// ready is the most that is made ready for a body before it comes, in bytes.
const ready = 1 << 20

// readBody reads a body that says how long it is; -1: it does not. What there is of it is given also with an error. Of one that is too large, as much
// again is read, so that a caller that is still sending comes to read the answer.
func readBody(buffer *bytes.Buffer, body io.Reader, length, maximum int64) ([]byte, error) {
	buffer.Grow(int(min(max(length, 0)+bytes.MinRead, ready, maximum+1)))
	_, err := buffer.ReadFrom(io.LimitReader(body, maximum+1))
	read := buffer.Bytes()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return read, &interpreter.Failure{Code: http.StatusRequestTimeout, Message: "the body did not come in time"}
	case err != nil:
		return read, malformed("the body could not be read to its end")
	case int64(len(read)) > maximum:
		_, _ = io.CopyN(io.Discard, body, maximum)
		return read, &interpreter.Failure{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", maximum)}
	}
	return read, nil
}

// patience is how long is worked for a request: less than its caller waits, so that it learns what happened.
func (h *handler) patience(r *http.Request) time.Duration {
	if said := serving.Timeout(r); said > 0 {
		return min(h.Patience, said-min(said/10, time.Second))
	}
	return h.Patience
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
	response interpreter.Response
	err      error
}

// interpret asks the interpreter, and comes back in time whatever that does. The message is released by whoever was asked, and never under its hands.
func (h *handler) interpret(ctx context.Context, e *exchange) (interpreter.Response, error) {
	a := e.asked
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
		o.response, o.err = h.Interpreter.Interpret(ctx, a.Request)
		a.whole.Release()
	}()
	select {
	case o := <-ended:
		return o.response, o.err
	case <-ctx.Done():
		e.left = true
		return interpreter.Response{}, ctx.Err()
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
