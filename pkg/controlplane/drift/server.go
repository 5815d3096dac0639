// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// Server implements API with a client of kube-apiserver. Objects keep their bytes.
type Server struct {
	Client rest.Interface
	// Timeout limits a call until its answer is read. MostBytes limits the size of the answer.
	Timeout   time.Duration
	MostBytes int64
}

// Read implements API.
func (s Server) Read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	request := s.Client.Get().AbsPath(path)
	for name, values := range query {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	return s.send(ctx, request)
}

// Touch implements API.
func (s Server) Touch(ctx context.Context, path string) ([]byte, error) {
	return s.send(ctx, TouchRequest(s.Client, path))
}

// send returns the answer to a request. The message of an error names objects but contains no content of them, except
// for messages of webhooks.
func (s Server) send(ctx context.Context, request *rest.Request) ([]byte, error) {
	ctx, end := context.WithTimeout(ctx, s.Timeout)
	defer end()
	body, err := request.MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server: %w", cmp.Or(ctx.Err(), err))
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(body, s.MostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the API server's answer: %w", err)
	case int64(len(raw)) > s.MostBytes:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.MostBytes)
	}
	return raw, nil
}
