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
	"sync"
	"time"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// maximumAnswer limits the body of a response, in bytes. It describes one allocation.
const maximumAnswer = 1 << 20

// send sends a call, and adds status, answer and headers to the variables. It also succeeds for answers that report a
// failure.
func (c *Cloud) send(ctx context.Context, asked *call, vars map[string]any) (*response, error) {
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

// exchange sends a request and reads the response. Errors do not contain the URL.
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

// request builds a call without its token. It fails with network.ErrNotSent until the document is fixed.
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
		return nil, errors.New("the path, with its computed values, is not a valid URL")
	}
	return request, c.writeHeaders(ctx, request, asked, named)
}

// writeHeaders sets the headers of a request.
func (c *Cloud) writeHeaders(ctx context.Context, request *http.Request, asked *call, named interpreter.Activation) error {
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

// authorize adds the token to a request.
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
		return "", errors.New("a segment of the path is empty, \".\" or \"..\"")
	}
	return url.PathEscape(computed), nil
}

// isTrue evaluates a condition. Without one, it returns the default.
func (c *call) isTrue(ctx context.Context, condition *expression.Expression, vars map[string]any, otherwise bool) (bool, error) {
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

// files are the paths of files on the server. Empty paths are not used.
type files struct {
	ca, cert, key, token string
}

// client creates a new transport when the content of a certificate file has changed.
type client struct {
	files files

	mutex   sync.Mutex
	content [3]string
	current *http.Client
}

// get returns the client for the current files. While the files do not match, because they are being replaced, it
// returns the previous client.
func (c *client) get() (*http.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	content, err := readAll(c.files.ca, c.files.cert, c.files.key)
	if err == nil && c.current != nil && content == c.content {
		return c.current, nil
	}
	var made *http.Client
	if err == nil {
		made, err = newClient(content)
	}
	if err != nil {
		if c.current != nil {
			return c.current, nil
		}
		return nil, err
	}
	if c.current != nil {
		c.current.CloseIdleConnections()
	}
	c.current, c.content = made, content
	return made, nil
}

func readAll(paths ...string) (content [3]string, err error) {
	for i, path := range paths {
		if path == "" {
			continue
		}
		if content[i], err = readFile(path); err != nil {
			return content, err
		}
	}
	return content, nil
}

func readFile(path string) (string, error) {
	raw, err := disk.ReadFile(path, disk.CertificateSize)
	if err != nil {
		return "", fmt.Errorf("reading a file of the cloud: %w", err)
	}
	return string(raw), nil
}

// newClient creates a client with a CA bundle, a certificate and its key.
func newClient(content [3]string) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if content[0] != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(content[0])) {
			return nil, errors.New("reading caFile: there is no certificate in it")
		}
	}
	if content[1] != "" || content[2] != "" {
		certificate, err := tls.X509KeyPair([]byte(content[1]), []byte(content[2]))
		if err != nil {
			return nil, errors.New("reading certFile and keyFile: not a certificate and its key")
		}
		trust.Certificates = []tls.Certificate{certificate}
	}
	return &http.Client{
		CheckRedirect: redirect,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
	}, nil
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

// token returns the current bearer token, or an empty string if none is configured.
func (c *client) token() (string, error) {
	if c.files.token == "" {
		return "", nil
	}
	raw, err := readFile(c.files.token)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(raw)
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("reading tokenFile: it must contain one token and nothing else")
	}
	return token, nil
}
