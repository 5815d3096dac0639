// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Socket returns the path of the socket for a ledger in a folder.
func Socket(folder string) string { return strings.TrimRight(folder, "/") + ".sock" }

// Client reads the ledger of a server. Everything that reads a store can use it.
type Client struct {
	http *http.Client
	// Address is the server's address.
	Address string
}

var _ ledger.Store = (*Client)(nil)

// Dial returns a client for an address such as unix:///var/lib/graft/ledger.sock. It fails for any
// other form, and does not connect yet.
func Dial(address string) (*Client, error) {
	path, ok := strings.CutPrefix(address, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("the address of a server is unix:// and the path of its socket, such as unix:///var/lib/graft/ledger.sock, not %q", address)
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return &Client{Address: address, http: &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		},
	}}}, nil
}

// Close implements ledger.Store.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Commit implements ledger.Store. It always fails, because only the server writes.
func (c *Client) Commit(context.Context, ...ledger.Change) error {
	return fmt.Errorf("the server at %s has the ledger, and only the server writes", c.Address)
}

// Get implements ledger.Store. It fails if the server does not answer.
func (c *Client) Get(ctx context.Context, key string) (value []byte, err error) {
	err = c.rows(ctx, url.Values{"key": {key}}, func(r row) error { value = r.Value; return nil })
	return value, err
}

// Scan implements ledger.Store. It fails if the server does not answer, or if each fails.
func (c *Client) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	return c.rows(ctx, url.Values{"prefix": {prefix}}, func(r row) error { return each([]byte(r.Key), r.Value) })
}

func (c *Client) rows(ctx context.Context, query url.Values, each func(row) error) error {
	return ask(ctx, c, http.MethodGet, "/v1/rows?"+query.Encode(), nil, each)
}

// Release lets the server release an owner's allocation and returns it. The error wraps network.ErrNotHeld.
func (c *Client) Release(ctx context.Context, owner network.Owner) (a network.Allocation, err error) {
	err = ask(ctx, c, http.MethodPost, "/v1/release", released{owner}, func(held network.Allocation) error { a = held; return nil })
	return a, err
}

// GC lets the server look for allocations without existing holders. It fails if the server does not answer, or if each
// fails.
func (c *Client) GC(ctx context.Context, dryRun bool, each func(Suspect) error) error {
	return ask(ctx, c, http.MethodPost, "/v1/gc?dryRun="+strconv.FormatBool(dryRun), nil, each)
}

// ask sends a request, and calls each for the values of the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, body any, each func(T) error) error {
	var content io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://ledger"+path, content)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return fmt.Errorf("asking the server at %s: %w", c.Address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking the server at %s: %w", c.Address, problemOf(response))
	}
	return readValues(c.Address, response.Body, each)
}

// problemOf returns the error of an answer without values.
func problemOf(response *http.Response) error {
	var last message
	err := json.NewDecoder(io.LimitReader(response.Body, maximumBody)).Decode(&last)
	if err != nil || last.Error == "" {
		last.Error = "it answers " + response.Status
	}
	return &Problem{response.StatusCode, last.Error}
}

func readValues[T any](address string, from io.Reader, each func(T) error) error {
	broken := func(err error) error { return fmt.Errorf("the answer of the server at %s broke off: %w", address, err) }
	lines := json.NewDecoder(bufio.NewReaderSize(from, 1<<16))
	for {
		var m message
		err := lines.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return broken(io.ErrUnexpectedEOF)
		case err != nil:
			return broken(err)
		case m.Error != "":
			return broken(errors.New(m.Error))
		case m.End:
			return nil
		}
		var value T
		if err := json.Unmarshal(m.Value, &value); err != nil {
			return broken(err)
		}
		if err := each(value); err != nil {
			return err
		}
	}
}
