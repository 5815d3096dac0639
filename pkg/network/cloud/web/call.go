// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// maximumAnswer limits the body of a response, in bytes. It describes one allocation.
const maximumAnswer = 1 << 20

// send sends a call with variables. It also succeeds for answers that report a failure.
func (c *Cloud) send(ctx context.Context, asked *call, vars map[string]any) (*response, error) {
	within, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	request, err := c.request(within, asked, vars)
	if err != nil {
		return nil, err
	}
	client, err := c.currentClient()
	if err != nil {
		return nil, err
	}
	r, err := exchange(client, request)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("asking the cloud to %s: %w", asked.name, ctx.Err())
	case within.Err() != nil:
		return nil, fmt.Errorf("asking the cloud to %s: no answer within %s", asked.name, c.options.Timeout)
	case err != nil:
		return nil, fmt.Errorf("asking the cloud to %s: %w", asked.name, err)
	}
	r.call = asked
	return r, r.setVariables(vars)
}

// exchange sends a request and reads the response. Errors do not contain the URL.
func exchange(client *http.Client, request *http.Request) (*response, error) {
	answered, err := client.Do(request)
	if err != nil {
		if where, ok := errors.AsType[*url.Error](err); ok {
			err = where.Err
		}
		return nil, err
	}
	defer func() { _ = answered.Body.Close() }() // all required data has been read
	body, err := io.ReadAll(io.LimitReader(answered.Body, maximumAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maximumAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", maximumAnswer)
	}
	return &response{status: answered.StatusCode, header: answered.Header, body: body}, nil
}

// request builds a call. If an expression fails, the error is network.ErrNotSent until the document is fixed.
func (c *Cloud) request(ctx context.Context, asked *call, vars map[string]any) (*http.Request, error) {
	request, err := c.evaluate(ctx, asked, vars)
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %s of the profile: %w", network.ErrNotSent, asked.name, err)
		}
		return nil, err
	}
	token, err := readToken(c.definition.tokenFile)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, err
}

// evaluate returns a request with the values of all expressions.
func (c *Cloud) evaluate(ctx context.Context, asked *call, vars map[string]any) (*http.Request, error) {
	named, err := interpreter.NewActivation(vars)
	if err != nil {
		return nil, fmt.Errorf("binding variables: %w", err)
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
		return nil, errors.New("the path, with its computed values, is not a valid URL")
	}
	request.Header.Set("User-Agent", "graft-network-provider")
	request.Header.Set("Accept", "application/json")
	if asked.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range c.definition.headers {
		value, err := h.value.String(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("headers.%s: %w", h.name, err)
		}
		request.Header.Set(h.name, value)
	}
	return request, nil
}

// escape escapes a computed part of a path or query, so that it remains one part.
func escape(before, computed string) (string, error) {
	if strings.Contains(before, "?") {
		return url.QueryEscape(computed), nil
	}
	if computed == "" || computed == "." || computed == ".." {
		return "", errors.New("a segment of the path is empty, \".\" or \"..\"")
	}
	return url.PathEscape(computed), nil
}

// currentClient returns the client for the current files. While the files do not match, because they are being replaced, it
// returns the previous client.
func (c *Cloud) currentClient() (*http.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	err := c.certificates.Load(func(pair tls.Certificate, authorities []byte) error {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if len(pair.Certificate) > 0 {
			config.Certificates = []tls.Certificate{pair}
		}
		if len(authorities) > 0 {
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(authorities) {
				return errors.New("there is no certificate in caFile")
			}
		}
		if c.client != nil {
			c.client.CloseIdleConnections()
		}
		c.client = &http.Client{CheckRedirect: redirect, Transport: cloud.NewTransport(config)}
		return nil
	})
	if c.client == nil {
		return nil, fmt.Errorf("reading the files of the cloud: %w", err)
	}
	return c.client, nil
}

// redirect allows redirects on the same host with the same method. It returns any other redirect as the answer.
func redirect(next *http.Request, before []*http.Request) error {
	const most = 5
	first := before[0]
	if len(before) > most || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme || next.Method != first.Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// readToken returns the current bearer token of a file, or an empty string without a file.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := disk.ReadFile(path, disk.CertificateSize)
	if err != nil {
		return "", fmt.Errorf("reading the files of the cloud: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("reading tokenFile: it must contain one token and nothing else")
	}
	return token, nil
}
