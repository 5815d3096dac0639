// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Server is an API by HTTP. Objects keep their bytes so.
type Server struct {
	// Host is where the API server is, and Client has the credentials.
	Host   *url.URL
	Client *http.Client
}

// Answer is an answer other than success, as an error. Its message names objects and never holds their content, but for what webhooks say.
type Answer struct {
	Code    int
	Message string
}

// Error is what the API server says.
func (a *Answer) Error() string { return a.Message }

// HTTPStatus is the code.
func (a *Answer) HTTPStatus() int { return a.Code }

// Call implements API.
func (s Server) Call(ctx context.Context, c Call) ([]byte, error) {
	at := *s.Host
	at.Path = strings.TrimSuffix(at.Path, "/") + c.Path
	at.RawQuery = c.Query.Encode()
	request, err := http.NewRequestWithContext(ctx, c.Verb, at.String(), bytes.NewReader(c.Body))
	if err != nil {
		return nil, fmt.Errorf("asking the API server: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if c.Type != "" {
		request.Header.Set("Content-Type", c.Type)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the API server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's answer: %w", err)
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return raw, nil
	}
	answer := &Answer{Code: response.StatusCode, Message: fmt.Sprintf("%s %s: HTTP status %d", c.Verb, c.Path, response.StatusCode)}
	var status struct{ Kind, Message string }
	if json.Unmarshal(raw, &status) == nil && status.Kind == "Status" && status.Message != "" {
		answer.Message = status.Message
	}
	return nil, answer
}
