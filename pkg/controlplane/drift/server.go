// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// Call implements API. The message of an error names objects but contains no content of them, except for messages of
// webhooks.
func (s Server) Call(ctx context.Context, c Call) ([]byte, error) {
	ctx, end := context.WithTimeout(ctx, s.Timeout)
	defer end()
	request := s.Client.Verb(c.Verb()).AbsPath(c.Path()).MaxRetries(0)
	for name, values := range c.Query() {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	if media, content := c.Body(); media != "" {
		request.SetHeader("Content-Type", media).Body([]byte(content))
	}
	body, err := request.Stream(ctx)
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
