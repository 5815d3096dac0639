// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// maximumAnswer is how many bytes of an answer are read.
const maximumAnswer = 1 << 20

// ask sends a call, and adds status, answer and headers to the variables. That it was answered is no success yet.
func (c *Cloud) ask(ctx context.Context, asked *call, vars map[string]any) (*response, error) {
	within, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	request, err := c.request(within, asked, vars)
	if err != nil {
		return nil, err
	}
	if err := c.authorize(request); err != nil {
		return nil, err
	}
	client, err := c.client.get()
	if err != nil {
		return nil, err
	}
	answered, err := exchange(client, request)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("asking the cloud to %s: %w", asked.name, ctx.Err())
	case within.Err() != nil:
		return nil, fmt.Errorf("asking the cloud to %s: no answer within %s", asked.name, c.options.Timeout)
	case err != nil:
		return nil, fmt.Errorf("asking the cloud to %s: %w", asked.name, err)
	}
	vars["status"], vars["answer"], vars["headers"] = int64(answered.status), expression.Value(answered.value()), answered.headers()
	return answered, nil
}

// exchange sends a request. Errors do not hold its URL.
func exchange(client *http.Client, request *http.Request) (*response, error) {
	raw, err := client.Do(request)
	if err != nil {
		var where *url.Error
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, err
	}
	defer func() { _ = raw.Body.Close() }() // all required data has been read
	body, err := io.ReadAll(io.LimitReader(raw.Body, maximumAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maximumAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", maximumAnswer)
	}
	return &response{raw.StatusCode, raw.Header, body}, nil
}

// request writes a call, but for its token. One that cannot be written is network.ErrNotSent: it will be the same until the document is another one.
func (c *Cloud) request(ctx context.Context, asked *call, vars map[string]any) (*http.Request, error) {
	request, err := c.write(ctx, asked, vars)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s of the profile: %w", network.ErrNotSent, asked.name, err)
	}
	return request, err
}

func (c *Cloud) write(ctx context.Context, asked *call, vars map[string]any) (*http.Request, error) {
	named, err := activation(vars)
	if err != nil {
		return nil, err
	}
	path, err := asked.path.Escaped(ctx, named, escape)
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	var body io.Reader = http.NoBody
	if asked.body != nil {
		raw, err := asked.body.JSON(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, asked.method, c.definition.base+path, body)
	if err != nil {
		return nil, errors.New("the path and what is computed in it make no URL")
	}
	return request, c.head(ctx, request, asked, named)
}

// head writes the headers.
func (c *Cloud) head(ctx context.Context, request *http.Request, asked *call, named interpreter.Activation) error {
	request.Header.Set("User-Agent", "graft-network-provider")
	request.Header.Set("Accept", "application/json")
	if asked.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range c.definition.headers {
		value, err := h.value.String(ctx, named)
		if err != nil {
			return fmt.Errorf("headers.%s: %w", h.name, err)
		}
		request.Header.Set(h.name, value)
	}
	return nil
}

// authorize adds the token.
func (c *Cloud) authorize(request *http.Request) error {
	token, err := c.client.token()
	if err == nil && token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// escape escapes a computed part of a path or query, so that it remains one part.
func escape(before, computed string) (string, error) {
	if strings.Contains(before, "?") {
		return url.QueryEscape(computed), nil
	}
	if computed == "" || computed == "." || computed == ".." {
		return "", errors.New("neither nothing nor a dot or two may be a part of a path")
	}
	return url.PathEscape(computed), nil
}

// has evaluates a condition. Without one, it returns the default.
func (c *call) has(ctx context.Context, condition *expression.Expression, vars map[string]any, otherwise bool) (bool, error) {
	if condition == nil {
		return otherwise, nil
	}
	named, err := activation(vars)
	if err != nil {
		return false, err
	}
	holds, err := condition.Bool(ctx, named)
	if err != nil {
		return false, fmt.Errorf("reading the answer to %s with status %v: %w", c.name, vars["status"], err)
	}
	return holds, nil
}
