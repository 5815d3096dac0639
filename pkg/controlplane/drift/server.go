// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// Server implements API with HTTP. Objects keep their bytes.
type Server struct {
	// Host is the address of the API server. Client has the credentials.
	Host   *url.URL
	Client *http.Client
	// Limiter limits the rate of calls; nil means no limit.
	Limiter flowcontrol.RateLimiter
	// Timeout limits a call until its answer is read. MostBytes limits the size of the answer. 0 means no limit.
	Timeout   time.Duration
	MostBytes int64
}

// Answer is an unsuccessful response as an error. Its message names objects but contains no content of them, except for
// messages of webhooks.
type Answer struct {
	Code    int
	Message string
}

// Error returns the message of kube-apiserver.
func (a *Answer) Error() string { return a.Message }

// HTTPStatus returns the status code.
func (a *Answer) HTTPStatus() int { return a.Code }

// Call implements API.
func (s Server) Call(ctx context.Context, c Call) ([]byte, error) {
	if s.Limiter != nil {
		if err := s.Limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("waiting to ask the API server: %w", err)
		}
	}
	if s.Timeout > 0 {
		bounded, end := context.WithTimeout(ctx, s.Timeout)
		defer end()
		ctx = bounded
	}
	request, err := s.request(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("asking the API server: %w", err)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the API server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := ReadAnswer(response.Body, s.MostBytes)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return raw, nil
	}
	answer := &Answer{Code: response.StatusCode, Message: fmt.Sprintf("%s %s: HTTP status %d", c.Verb(), c.Path(), response.StatusCode)}
	var status struct{ Kind, Message string }
	if json.Unmarshal(raw, &status) == nil && status.Kind == "Status" && status.Message != "" {
		answer.Message = status.Message
	}
	return nil, answer
}

func (s Server) request(ctx context.Context, c Call) (*http.Request, error) {
	at := *s.Host
	at.Path = strings.TrimSuffix(at.Path, "/") + c.Path()
	at.RawQuery = c.Query().Encode()
	media, content := c.Body()
	request, err := http.NewRequestWithContext(ctx, c.Verb(), at.String(), strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if media != "" {
		request.Header.Set("Content-Type", media)
	}
	return request, nil
}

// ReadAnswer reads a response completely. It fails with ErrTooLarge if it has more than most bytes; 0 means no limit.
func ReadAnswer(body io.Reader, most int64) ([]byte, error) {
	if most > 0 {
		body = io.LimitReader(body, most+1)
	}
	raw, err := io.ReadAll(body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the API server's answer: %w", err)
	case most > 0 && int64(len(raw)) > most:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return raw, nil
}
