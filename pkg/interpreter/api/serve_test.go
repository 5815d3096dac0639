// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

const uid = "1d8a8ff1-0f3b-4e1c-9c0b-0d6a8f7a1c11"

// question returns a message about the health of an object with a text of this length.
func question(length int) []byte {
	return fmt.Appendf(nil, `{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","request":{"uid":%q,`+
		`"kind":{"group":"acme.com","version":"v1","kind":"Queue"},"name":"q","operation":"InterpretHealth","object":{"spec":{"text":"%s"}},"replicas":0}}`,
		uid, strings.Repeat("x", length))
}

// working is an interpreter with a function of the test.
type working func(ctx context.Context, r interpreter.Request) (interpreter.Response, error)

func (f working) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	return f(ctx, r)
}

var healthy = working(func(context.Context, interpreter.Request) (interpreter.Response, error) {
	yes := true
	return interpreter.Response{Healthy: &yes}, nil
})

// failed is the code and the message of an answer of Karmada's dialect to question.
func failed(t *testing.T, status int, answer []byte) (int32, string) {
	t.Helper()
	var m dispatch.ContextMessage
	if err := strictly(answer, &m); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	if err := acceptContext(uid, "InterpretHealth", m.Response); err != nil {
		t.Fatal(err)
	}
	if m.Response.Successful {
		return http.StatusOK, ""
	}
	return m.Response.Status.Code, m.Response.Status.Message
}

// TestTruncated cuts a message at each byte: from the end of the uid on, it is always answered.
func TestTruncated(t *testing.T) {
	h := api.New(api.Options{Interpreter: healthy, Log: logr.Discard()})
	whole := question(10)
	known := bytes.Index(whole, []byte(uid)) + len(uid) + 1
	for i := range whole {
		status, answer := post(t, h, "", whole[:i])
		if i < known {
			if status != http.StatusBadRequest || bytes.Contains(answer, []byte(uid)) {
				t.Fatalf("%d: %d %s", i, status, answer)
			}
			continue
		}
		if code, _ := failed(t, status, answer); code != http.StatusBadRequest {
			t.Fatalf("%d: got %d", i, code)
		}
	}
	if code, _ := failed(t, http.StatusOK, second(post(t, h, "", whole))); code != http.StatusOK {
		t.Errorf("got %d", code)
	}
}

func second(_ int, answer []byte) []byte { return answer }

func TestTooLarge(t *testing.T) {
	overhead := len(question(0))
	for _, c := range []struct {
		maximum int64 // 0: the default
		length  int
		want    int32
	}{
		{0, api.DefaultMaximumBytes, http.StatusOK},
		{0, api.DefaultMaximumBytes + 1, http.StatusRequestEntityTooLarge},
		{1000, 1000, http.StatusOK},
		{1000, 1001, http.StatusRequestEntityTooLarge},
		{1000, 2000, http.StatusRequestEntityTooLarge},
		{1000, 100_000, http.StatusRequestEntityTooLarge},
	} {
		h := api.New(api.Options{Interpreter: healthy, Log: logr.Discard(), MaximumBytes: c.maximum, Patience: time.Hour})
		status, answer := post(t, h, "", question(c.length-overhead))
		if code, message := failed(t, status, answer); code != c.want {
			t.Errorf("%d of %d bytes: got %d %s", c.length, c.maximum, code, message)
		}
	}
	small := api.New(api.Options{Interpreter: healthy, Log: logr.Discard(), MaximumBytes: 300})
	status, answer := post(t, small, "", question(300))
	if code, message := failed(t, status, answer); code != http.StatusRequestEntityTooLarge || message != "the body is larger than 300 bytes" {
		t.Errorf("got %d %s", code, message)
	}
}

func TestDeadlines(t *testing.T) {
	hanging := working(func(context.Context, interpreter.Request) (interpreter.Response, error) { select {} })
	obedient := working(func(ctx context.Context, _ interpreter.Request) (interpreter.Response, error) {
		<-ctx.Done()
		return interpreter.Response{}, fmt.Errorf("evaluating: %w", ctx.Err())
	})
	for name, i := range map[string]api.Interpreter{"hanging": hanging, "obedient": obedient} {
		for query, patience := range map[string]time.Duration{
			"": 30 * time.Millisecond, "?timeout=50ms": time.Hour, "?timeout=1h": 30 * time.Millisecond, "?timeout=soon": 30 * time.Millisecond,
			"?timeout=-1s": 30 * time.Millisecond,
		} {
			t.Run(name+query, func(t *testing.T) {
				h := api.New(api.Options{Interpreter: i, Log: logr.Discard(), Patience: patience})
				status, answer := post(t, h, query, question(1))
				if code, message := failed(t, status, answer); code != http.StatusGatewayTimeout || message != "the answer took longer than the caller's timeout" {
					t.Errorf("got %d %s", code, message)
				}
			})
		}
	}
}

// TestAnswersOnRequestGoroutine checks that an interpreter on the goroutine of the request has the same answers for timeouts and panics as
// one on its own goroutine, and that large bodies always get their own.
func TestAnswersOnRequestGoroutine(t *testing.T) {
	obedient := working(func(ctx context.Context, _ interpreter.Request) (interpreter.Response, error) {
		for ctx.Err() == nil {
			runtime.Gosched()
		}
		return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeBroken, Message: "stopped"}
	})
	panics := working(func(context.Context, interpreter.Request) (interpreter.Response, error) { panic("out of order") })
	hanging := working(func(context.Context, interpreter.Request) (interpreter.Response, error) { select {} })
	const short, long = 30 * time.Millisecond, time.Hour
	for name, c := range map[string]struct {
		by       api.Interpreter
		length   int
		patience time.Duration
		want     int32
	}{
		"answers in time":                  {healthy, 1, long, http.StatusOK},
		"ends with its context":            {obedient, 1, short, http.StatusGatewayTimeout},
		"answers 500 after a panic":        {panics, 1, long, http.StatusInternalServerError},
		"large, and ends with its context": {obedient, 1 << 13, short, http.StatusGatewayTimeout},
		"large, and panics":                {panics, 1 << 13, long, http.StatusInternalServerError},
		"large, and hangs":                 {hanging, 1 << 13, short, http.StatusGatewayTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			h := api.New(api.Options{Interpreter: c.by, Log: logr.Discard(), Patience: c.patience})
			for range 2 { // so that memory is used again
				status, answer := post(t, h, "", question(c.length))
				if code, message := failed(t, status, answer); code != c.want {
					t.Errorf("got %d %s", code, message)
				}
			}
		})
	}
}

func TestMethods(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		recorder := httptest.NewRecorder()
		h := api.New(api.Options{Interpreter: healthy, Log: logr.Discard()})
		h.ServeHTTP(recorder, httptest.NewRequest(method, "/", bytes.NewReader(question(1))))
		checkStatus(t, recorder.Code, recorder.Body.Bytes(), http.StatusMethodNotAllowed, "use POST", "")
		if recorder.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: got %v", method, recorder.Header())
		}
	}
}

// TestEncodings checks that an encoded body is rejected as such, and that the encoding identity is accepted.
func TestEncodings(t *testing.T) {
	h := api.New(api.Options{Interpreter: healthy, Log: logr.Discard()})
	for encoding, code := range map[string]int{
		"gzip": http.StatusUnsupportedMediaType, "br": http.StatusUnsupportedMediaType, "identity, gzip": http.StatusUnsupportedMediaType,
		"": http.StatusOK, "Identity": http.StatusOK,
	} {
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(question(1)))
		request.Header.Set("Content-Encoding", encoding)
		h.ServeHTTP(recorder, request)
		if code == http.StatusOK {
			if recorder.Code != code {
				t.Errorf("%q: got %d", encoding, recorder.Code)
			}
			continue
		}
		checkStatus(t, recorder.Code, recorder.Body.Bytes(), code, "Content-Encoding is not supported: send the body without compression", "")
		if recorder.Header().Get("Accept-Encoding") != "identity" {
			t.Errorf("%q: got %v", encoding, recorder.Header())
		}
	}
}

// broken is a body that ends with an error.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func TestBrokenBodies(t *testing.T) {
	for err, want := range map[error]int32{
		errors.New("the line is cut"): http.StatusBadRequest, os.ErrDeadlineExceeded: http.StatusRequestTimeout, io.ErrUnexpectedEOF: http.StatusBadRequest,
	} {
		recorder := httptest.NewRecorder()
		body := io.MultiReader(bytes.NewReader(question(100)[:250]), broken{err})
		api.New(api.Options{Interpreter: healthy, Log: logr.Discard()}).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", body))
		if code, message := failed(t, recorder.Code, recorder.Body.Bytes()); code != want {
			t.Errorf("%v: got %d %s", err, code, message)
		}
	}
}

// TestLogs checks that the log has the reason of a failure of the server, and no content of objects.
func TestLogs(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
	for _, g := range []given{{Panic: "out of order"}, {Error: "no memory"}, {Failure: &interpreter.Failure{Code: 422, Message: "spec.text is missing"}}} {
		post(t, api.New(api.Options{Interpreter: &scripted{given: g}, Log: log}), "", question(20))
	}
	if len(lines) != 3 {
		t.Fatalf("got %q", lines)
	}
	for i, want := range []string{"a value of the type string", "no memory", "spec.text is missing"} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], uid) || strings.Contains(lines[i], "xxx") || strings.Contains(lines[i], "out of order") {
			t.Errorf("got %s", lines[i])
		}
	}
}

func TestOperations(t *testing.T) {
	for kind, lacks := range map[string][]interpreter.Operation{api.KindContext: nil, api.KindReview: {interpreter.Components}, "Other": interpreter.Operations()} {
		named := api.Operations(kind)
		for _, o := range interpreter.Operations() {
			has := slices.Contains(slices.Collect(maps.Values(named)), o)
			if has == slices.Contains(lacks, o) {
				t.Errorf("%s has %s: %v", kind, o, has)
			}
		}
		if len(named) != len(interpreter.Operations())-len(lacks) {
			t.Errorf("%s: got %v", kind, named)
		}
	}
}

// TestBodyIsNotReusedDuringWork checks that the memory of a body is not reused while an interpreter works on it, also after its caller
// has left.
func TestBodyIsNotReusedDuringWork(t *testing.T) {
	gate, after := make(chan struct{}), make(chan string, 1)
	h := api.New(api.Options{Log: logr.Discard(), Patience: time.Millisecond, Interpreter: working(
		func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
			if len(r.Object) > 1000 {
				<-gate
				after <- string(r.Object)
			}
			return healthy(ctx, r)
		},
	)})
	ask := func(body []byte) []byte {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		return recorder.Body.Bytes()
	}
	if answer := ask(question(2000)); !bytes.Contains(answer, []byte(`"code":504`)) {
		t.Errorf("answered is %s", answer)
	}
	for range 100 {
		ask(bytes.ReplaceAll(question(900), []byte("xx"), []byte("yy")))
	}
	close(gate)
	if want, got := `{"spec":{"text":"`+strings.Repeat("x", 2000)+`"}}`, <-after; got != want {
		t.Errorf("the body was overwritten during the work: %s", got)
	}
}
