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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

// Socket returns the path of the socket for a ledger in a folder.
func Socket(folder string) string { return strings.TrimRight(folder, "/") + ".sock" }

// Client asks a server that has a ledger.
type Client struct {
	http *http.Client
	// Address is the one that was dialled.
	Address string
}

// Dial returns a client for an address such as unix:///var/lib/graft/ledger.sock. It does not connect yet.
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

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// do asks for one thing. The caller closes the body.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://ledger"+path+"?"+query.Encode(), content)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, fmt.Errorf("asking the server at %s: %w", c.Address, err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	var said failure
	if err := json.NewDecoder(io.LimitReader(response.Body, maximumBody)).Decode(&said); err != nil || said.Error == "" {
		said.Error = "it answers " + response.Status
	}
	return nil, fmt.Errorf("asking the server at %s: %w", c.Address, &Problem{response.StatusCode, said.Error})
}

// lines asks for lines, and calls each for every one of them.
func (c *Client) lines(ctx context.Context, method, path string, query url.Values, each func([]byte) error) error {
	response, err := c.do(ctx, method, path, query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(make([]byte, 0, 1<<16), maximumAnswer)
	for scanner.Scan() {
		if err := each(scanner.Bytes()); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return c.broken(err)
	}
	return c.trailer(response)
}

// maximumAnswer bounds a line in bytes; a report of many faults is one.
const maximumAnswer = 64 << 20

func (c *Client) broken(err error) error {
	return fmt.Errorf("the answer of the server at %s broke off: %w", c.Address, err)
}

// trailer returns the error in the trailer of a response.
func (c *Client) trailer(response *http.Response) error {
	if said := response.Trailer.Get(trailerError); said != "" {
		return c.broken(errors.New(said))
	}
	return nil
}

// Search calls ledger.Search for the server's ledger. The entries lack keys and values.
func (c *Client) Search(ctx context.Context, q ledger.Query, each func(ledger.Entry) error) error {
	return c.lines(ctx, http.MethodGet, "/v1/allocations", formatQuery(q), func(line []byte) error {
		var read entry
		if err := json.Unmarshal(line, &read); err != nil {
			return c.broken(err)
		}
		if read.Resting != nil {
			return each(ledger.Entry{Thing: *read.Resting, Until: read.Until, Last: read.Last})
		}
		var a network.Allocation
		if err := json.Unmarshal(read.Allocation, &a); err != nil {
			return c.broken(err)
		}
		return each(ledger.Entry{Allocation: &a, Owner: a.Owner})
	})
}

// Export calls archive.Export for the server's ledger and verifies the received data. For omitted rows, it returns only
// their number.
func (c *Client) Export(ctx context.Context, out io.Writer, leaveOutBroken bool, progress func(lines int)) (done archive.Exported, err error) {
	query := url.Values{}
	if leaveOutBroken {
		query.Set("leaveOutBroken", "true")
	}
	response, err := c.do(ctx, http.MethodGet, "/v1/export", query, nil)
	if err != nil {
		return done, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := 0
	done.Summary, err = archive.Check(io.TeeReader(response.Body, out), func(archive.Item) error {
		if lines++; progress != nil && lines%4096 == 0 {
			progress(lines)
		}
		return nil
	})
	// The trailer contains the reason for an incomplete response.
	_, _ = io.Copy(io.Discard, response.Body)
	if said := c.trailer(response); said != nil {
		return done, said
	}
	if err != nil {
		return done, c.broken(err)
	}
	done.Even = response.Trailer.Get(trailerEven) == "true"
	done.Broken, _ = strconv.Atoi(response.Trailer.Get(trailerBroken)) // the server writes a number
	return done, nil
}

// Verify calls ledger.Verify for the server's ledger.
func (c *Client) Verify(ctx context.Context, progress func(rows int)) (*ledger.Report, error) {
	var report *ledger.Report
	err := c.lines(ctx, http.MethodPost, "/v1/verify", nil, func(line []byte) error {
		var read verification
		if err := json.Unmarshal(line, &read); err != nil {
			return c.broken(err)
		}
		if report = read.Report; report == nil && progress != nil {
			progress(read.Rows)
		}
		return nil
	})
	if err == nil && report == nil {
		err = c.broken(io.ErrUnexpectedEOF)
	}
	return report, err
}

// Release lets the server release an owner's allocation and returns it. The error wraps network.ErrNotHeld.
func (c *Client) Release(ctx context.Context, owner network.Owner) (a network.Allocation, err error) {
	var read struct {
		Allocation *network.Allocation `json:"allocation"`
	}
	read.Allocation = &a
	err = c.one(ctx, "/v1/release", released{owner}, &read)
	return a, err
}

func (c *Client) one(ctx context.Context, path string, body, into any) error {
	response, err := c.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(response.Body, maximumAnswer)).Decode(into); err != nil {
		return c.broken(err)
	}
	return nil
}

// GC lets the server look for allocations without existing holders.
func (c *Client) GC(ctx context.Context, dryRun bool, each func(Suspect) error) error {
	return c.lines(ctx, http.MethodPost, "/v1/gc", url.Values{"dryRun": {strconv.FormatBool(dryRun)}}, func(line []byte) error {
		var s Suspect
		if err := json.Unmarshal(line, &s); err != nil {
			return c.broken(err)
		}
		return each(s)
	})
}
