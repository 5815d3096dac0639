// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"cmp"
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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
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

// maximumError limits the text of a server's error, in bytes.
const maximumError = 64 << 10

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
	err = ask(ctx, c, "GET", "rows", url.Values{"key": {key}}, func(r row) error { value = r.Value; return nil })
	return value, err
}

// Scan implements ledger.Store. It fails if the server does not answer, or if each fails.
func (c *Client) Scan(ctx context.Context, prefix string, each func(key, value []byte) error) error {
	return ask(ctx, c, "GET", "rows", url.Values{"prefix": {prefix}}, func(r row) error { return each([]byte(r.Key), r.Value) })
}

// Release lets the server release an owner's allocation and returns it. The error wraps network.ErrNotHeld.
func (c *Client) Release(ctx context.Context, owner network.Owner) (a network.Allocation, err error) {
	err = ask(ctx, c, "POST", "release", url.Values{"owner": {owner.String()}}, func(held network.Allocation) error { a = held; return nil })
	return a, err
}

// GC lets the server look for allocations without existing holders. It fails if the server does not answer, or if each
// fails.
func (c *Client) GC(ctx context.Context, dryRun bool, each func(gc.Suspect) error) error {
	return ask(ctx, c, "POST", "gc", url.Values{"dryRun": {strconv.FormatBool(dryRun)}}, each)
}

// ask sends a request, and calls each for the values of the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, each func(T) error) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://ledger/v2/"+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		return fmt.Errorf("asking the server at %s: %w", c.Address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maximumError)) // an incomplete error is one, too
		p := &Problem{response.StatusCode, cmp.Or(strings.TrimSpace(string(text)), "it answers "+response.Status)}
		return fmt.Errorf("asking the server at %s: %w", c.Address, p)
	}
	for lines := json.NewDecoder(bufio.NewReaderSize(response.Body, 1<<16)); ; {
		var value T
		err := lines.Decode(&value)
		if errors.Is(err, io.EOF) {
			problem := response.Trailer.Get(trailer)
			if problem == "" {
				return nil
			}
			err = errors.New(problem)
		}
		if err != nil {
			return fmt.Errorf("the answer of the server at %s is incomplete: %w", c.Address, err)
		}
		if err := each(value); err != nil {
			return err
		}
	}
}
