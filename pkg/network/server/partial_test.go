// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
)

// TestPartialBody checks that a request with half a body is answered, and that its connection is closed soon after.
func TestPartialBody(t *testing.T) {
	const patience = 200 * time.Millisecond
	read := func(w http.ResponseWriter, r *http.Request) {
		var into any
		if problem, ok := errors.AsType[*api.Problem](api.Read(w, r, 64, &into)); ok {
			problem.Write(w)
		}
	}
	for name, test := range map[string]struct {
		path   string
		most   int
		handle http.HandlerFunc
		want   int
	}{
		"the handler does not read it":      {path: "/do", most: 9, handle: func(http.ResponseWriter, *http.Request) {}, want: http.StatusOK},
		"too much to do":                    {path: "/do", most: 0, handle: read, want: http.StatusTooManyRequests},
		"the rest never arrives":            {path: "/do", most: 9, handle: read, want: http.StatusRequestTimeout},
		"the client waits for 100 Continue": {path: "/else", most: 9, handle: read, want: http.StatusRequestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			limits := few()
			limits.BodyTimeout, limits.Requests = patience, test.most
			w := newLimitedWorld(t, time.Second, limits, Listener{}, test.handle)
			connection, err := net.Dial("unix", w.Addresses()[0])
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(connection, "POST "+test.path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(connection)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("the partial request got no answer: %v", err)
			}
			defer func() { _ = response.Body.Close() }()
			_, _ = io.Copy(io.Discard, response.Body)
			if response.StatusCode != test.want || !response.Close {
				t.Errorf("got %s, which ends the connection: %v", response.Status, response.Close)
			}
			if _, err := reader.ReadByte(); err != io.EOF {
				t.Errorf("want the connection closed, got %v", err)
			}
		})
	}
}

// TestWholeBodies checks that a connection stays open after complete bodies, and that each request has its own
// deadline.
func TestWholeBodies(t *testing.T) {
	limits := few()
	limits.BodyTimeout = 50 * time.Millisecond
	w := newLimitedWorld(t, time.Second, limits, Listener{}, echo)
	connection, err := net.Dial("unix", w.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for range 3 {
		if _, err := io.WriteString(connection, "POST /do HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(text) != "ab" || response.Close {
			t.Errorf("got %s %q, which ends the connection: %v", response.Status, text, response.Close)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
