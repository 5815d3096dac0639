// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package serving contains the HTTP parts that the server programs share: timeouts, limits, and the monitoring
// port. It knows no API. Start reading at Main and Monitor.
package serving

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/go-logr/logr"
)

const (
	// HeadTimeout limits the time for receiving a request's header.
	HeadTimeout = 10 * time.Second
	// IdleTimeout limits the time of a connection without a request. Go's clients close one after 90 seconds
	// (http.DefaultTransport), so that seldom a request meets a connection that the server closes.
	IdleTimeout = 2 * time.Minute
	// MaximumHead limits a request's header, in bytes. Callers send some hundred bytes; Go's default is 1 MiB.
	MaximumHead = 16 << 10
)

// Serve serves until the context ends, with TLS if the server has a configuration for it. It then accepts no connections,
// and aborts requests that take longer than grace. It fails if it cannot accept connections any more; it calls broken with
// the error first, and then ends running requests in the same way.
func Serve(
	ctx context.Context, server *http.Server, listener net.Listener, grace time.Duration, to logr.Logger, broken func(error),
) (err error) {
	failed := make(chan error, 1)
	go func() {
		if server.TLSConfig != nil {
			failed <- server.ServeTLS(listener, "", "")
		} else {
			failed <- server.Serve(listener)
		}
	}()
	select {
	case err = <-failed:
		broken(err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(ending) != nil {
		to.Info("Aborting unfinished requests")
		_ = server.Close() // closed connections are not counted as open any more
	}
	if err == nil {
		err = <-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// LongestLine limits messages, in bytes. It leaves room in an Event (1 kB) for the text that callers add.
const LongestLine = 900

// Line returns a text on one line for people, without characters that cannot be printed, shortened to a number of bytes.
func Line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// ErrorLog returns a logger for net/http's messages about connections, at debug level.
func ErrorLog(to logr.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

type lines struct{ log logr.Logger }

// Write implements io.Writer.
func (l lines) Write(text []byte) (int, error) {
	l.log.V(1).Info("Connection error", "message", string(text[:max(0, len(text)-1)]))
	return len(text), nil
}
