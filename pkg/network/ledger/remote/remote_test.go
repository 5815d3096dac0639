// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// world is a server that has a ledger, and a client of it.
type world struct {
	store  *file.Store
	client *remote.Client
	http   *http.Client
}

// serve serves three allocations and a quarantine on a socket next to their folder.
func serve(t *testing.T, change func(*remote.Options)) *world {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "ledger")
	store, err := file.Open(folder, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rows []ledger.Change
	for i := range 3 {
		a := network.Allocation{
			Owner: network.Owner{Contract: "test", Key: fmt.Sprint(i)}, Pool: "pool", State: network.Bound, Since: time.Unix(1e9+int64(i), 0).UTC(),
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}, Holder: network.Holder{Kind: "Pod", Namespace: "default", Name: fmt.Sprint(i)},
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		of, err := ledger.AllocationRows(raw)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, of...)
	}
	rest, err := ledger.QuarantineRow(ledger.Resource{Pool: "pool", Address: netip.MustParseAddr("10.0.0.9")}, time.Unix(2e9, 0), network.Owner{Contract: "docker", Key: "last"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), append(rows, rest, ledger.Change{Key: "format", Value: []byte("2")})...); err != nil {
		t.Fatal(err)
	}
	options := remote.Options{Store: store}
	options.Release = func(ctx context.Context, owner network.Owner) error {
		_, err := ledger.MarkReleasing(ctx, store, owner)
		return err
	}
	if change != nil {
		change(&options)
	}
	listener, err := net.Listen("unix", remote.Socket(folder))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: remote.New(options)}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	client, err := remote.Dial("unix://" + remote.Socket(folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		<-done
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{store: store, client: client, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", remote.Socket(folder))
		},
	}}}
}

// TestSearch checks that each filter reaches the server, and its results the client.
func TestSearch(t *testing.T) {
	w := serve(t, nil)
	for name, c := range map[string]struct {
		query ledger.Query
		want  string
	}{
		"lists all without a filter":           {ledger.Query{}, "test/0 test/1 test/2"},
		"lists the allocations of a pool":      {ledger.Query{Pool: "pool"}, "test/0 test/1 test/2"},
		"by a pool without allocations":        {ledger.Query{Pool: "other"}, ""},
		"finds an allocation by its owner":     {ledger.Query{Owner: "test/1"}, "test/1"},
		"by a prefix of owners":                {ledger.Query{Owner: "te*"}, "test/0 test/1 test/2"},
		"finds an allocation by an address":    {ledger.Query{Address: netip.MustParseAddr("10.0.0.3")}, "test/2"},
		"by address and pool":                  {ledger.Query{Address: netip.MustParseAddr("10.0.0.3"), Pool: "pool"}, "test/2"},
		"by an address in quarantine":          {ledger.Query{Address: netip.MustParseAddr("10.0.0.9")}, "10.0.0.9 of the pool pool until 2033-05-18T03:33:20Z, last docker/last"},
		"lists nothing in another state":       {ledger.Query{State: network.Releasing}, ""},
		"lists the allocations of a namespace": {ledger.Query{Namespace: "default"}, "test/0 test/1 test/2"},
		"by a node without allocations":        {ledger.Query{Node: "n"}, ""},
		"lists allocations older than a time":  {ledger.Query{Before: time.Unix(1e9+1, 0)}, "test/0"},
		"by the state quarantine":              {ledger.Query{State: network.Quarantined}, "10.0.0.9 of the pool pool until 2033-05-18T03:33:20Z, last docker/last"},
		"by owner and another pool":            {ledger.Query{Owner: "test/1", Pool: "other"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for where, search := range map[string]func(ledger.Query, func(ledger.Entry) error) error{
				"through the server": func(q ledger.Query, each func(ledger.Entry) error) error {
					return ledger.Search(t.Context(), w.client, q, each)
				},
				"in the store": func(q ledger.Query, each func(ledger.Entry) error) error {
					return ledger.Search(t.Context(), w.store, q, each)
				},
			} {
				var got []string
				err := search(c.query, func(e ledger.Entry) error {
					if e.Allocation != nil {
						got = append(got, e.Allocation.Owner.String())
					} else {
						got = append(got, fmt.Sprintf("%s until %s, last %s", e.Resource, e.Until.Format(time.RFC3339), e.Last))
					}
					return nil
				})
				if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", where, err, diff)
				}
			}
		})
	}
}

// TestExportVerifyAndReleaseThroughServer exports, verifies and releases through the server.
func TestExportVerifyAndReleaseThroughServer(t *testing.T) {
	w := serve(t, nil)
	var direct, through bytes.Buffer
	want, err := archive.Export(t.Context(), w.store, &direct, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := archive.Export(t.Context(), w.client, &through, nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || direct.String() != through.String() {
		t.Errorf("export: %v (-store +server):\n%s%s", err, diff, cmp.Diff(direct.String(), through.String()))
	}
	report, err := ledger.Verify(t.Context(), w.client, 0)
	if err != nil || report.Allocations != 3 || report.Held != 3 || report.Quarantined != 1 || len(report.Faults) > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	a, err := w.client.Release(t.Context(), network.Owner{Contract: "test", Key: "1"})
	if err != nil || a.Addresses[0].String() != "10.0.0.2" {
		t.Errorf("release: %+v, %v", a, err)
	}
	if _, err := w.client.Release(t.Context(), network.Owner{Contract: "test", Key: "7"}); !errors.Is(err, network.ErrNotHeld) {
		t.Errorf("release: got error %v, want %v", err, network.ErrNotHeld)
	}
	if _, err := w.client.Release(t.Context(), network.Owner{Contract: "test", Key: "*"}); err == nil {
		t.Error("the owner * is accepted, want an error")
	}
}

// TestFaults checks that faults and unreadable rows are reported over the server.
func TestFaults(t *testing.T) {
	w := serve(t, nil)
	if err := w.store.Commit(t.Context(), ledger.Change{Key: "owner/test/9", Value: []byte("{")}, ledger.Change{Key: "ip/pool/0a000007", Value: []byte("=test/8")}); err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(t.Context(), w.client, 0)
	if err != nil || len(report.Faults) != 2 || report.Faults[0].Remedy == "" {
		t.Errorf("verify: %+v, %v", report, err)
	}
	err = ledger.Search(t.Context(), w.client, ledger.Query{}, func(ledger.Entry) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "reading the row owner/test/9") {
		t.Errorf("search: got error %v", err)
	}
	if _, err = archive.Export(t.Context(), w.client, &bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), "reading the row owner/test/9") {
		t.Errorf("export: got error %v", err)
	}
	if done, err := archive.Export(t.Context(), w.client, &bytes.Buffer{}, func(*ledger.BrokenRow) {}); err != nil || done.Broken != 1 || done.Even {
		t.Errorf("export: %+v, %v", done, err)
	}
}

// TestGC checks that possible leaks are sent as they are found, and the answer of a server that cannot find any.
func TestGC(t *testing.T) {
	if err := serve(t, nil).client.GC(t.Context(), true, nil); err == nil || !strings.Contains(err.Error(), "has no Kubernetes client") {
		t.Errorf("got error %v", err)
	}
	for _, dry := range []bool{true, false} {
		w := serve(t, func(o *remote.Options) {
			o.GC = func(_ context.Context, dryRun bool, each func(gc.Suspect) error) error {
				return each(gc.Suspect{Reason: "gone", Freed: !dryRun})
			}
		})
		var got []gc.Suspect
		err := w.client.GC(t.Context(), dry, func(s gc.Suspect) error { got = append(got, s); return nil })
		if err != nil || len(got) != 1 || got[0].Freed == dry || got[0].Reason != "gone" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// TestRefused checks the answers to invalid and failing requests.
func TestRefused(t *testing.T) {
	w := serve(t, func(o *remote.Options) {
		o.Requests = 1
		o.Release = func(context.Context, network.Owner) error { return network.ErrUnavailable }
	})
	for request, want := range map[string]string{
		"GET /v2/rows?key=none":            "200 ",
		"GET /v1/rows":                     "404 the server does not know this request: use the version of the server",
		"POST /v2/release":                 "400 an owner is <contract>/<key>",
		"POST /v2/release?owner=test":      "400 an owner is <contract>/<key>",
		"POST /v2/release?owner=test/none": "404 " + network.ErrNotHeld.Error(),
		"POST /v2/release?owner=test/1":    "500 unavailable",
	} {
		if got := w.ask(t, request); got != want {
			t.Errorf("%.60s: got %s, want %s", request, got, want)
		}
	}
}

// TestLimitOfConcurrentRequests checks the limit of concurrent requests.
func TestLimitOfConcurrentRequests(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	w := serve(t, func(o *remote.Options) {
		o.Requests = 1
		o.Release = func(context.Context, network.Owner) error {
			close(entered)
			<-leave
			return nil
		}
	})
	done := make(chan error)
	go func() {
		_, err := w.client.Release(t.Context(), network.Owner{Contract: "test", Key: "1"})
		done <- err
	}()
	<-entered
	if got := w.ask(t, "GET /v2/rows"); !strings.HasPrefix(got, "429 ") {
		t.Errorf("got %s", got)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestNoServerListens checks the errors if no server listens, or another program does.
func TestNoServerListens(t *testing.T) {
	for address, want := range map[string]string{
		"unix:///nonexistent/ledger.sock": "asking the server at unix:///nonexistent/ledger.sock: ",
		"/var/lib/graft/ledger.sock":      "the address of a server is unix://",
		"http://localhost":                "the address of a server is unix://",
	} {
		client, err := remote.Dial(address)
		if err == nil {
			_, err = client.Get(t.Context(), "format")
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got error %v", address, err)
		}
	}
}

// ask sends a request that is written as METHOD PATH BODY.
func (w *world) ask(t *testing.T, request string) string {
	t.Helper()
	words := append(strings.SplitN(request, " ", 3), "")
	r, err := http.NewRequestWithContext(t.Context(), words[0], "http://ledger"+words[1], strings.NewReader(words[2]))
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(body.String()))
}

// TestInterruptedAnswers checks that an answer that ends early is an error, with the reason if the server had time to send it.
func TestInterruptedAnswers(t *testing.T) {
	broken := func() error { return errors.New("the disk is broken") }
	aborts := func() error { panic(http.ErrAbortHandler) }
	for _, test := range []struct {
		name   string
		values int
		end    func() error
		want   string
	}{
		{"an error after one value", 1, broken, "is incomplete: the disk is broken"},
		{"an error after many values", 1000, broken, "is incomplete: the disk is broken"},
		{"a connection that ends", 1000, aborts, "is incomplete: unexpected EOF"},
	} {
		w := serve(t, func(o *remote.Options) {
			o.GC = func(_ context.Context, _ bool, each func(gc.Suspect) error) error {
				for range test.values {
					if err := each(gc.Suspect{Reason: "gone"}); err != nil {
						return err
					}
				}
				return test.end()
			}
		})
		if err := w.client.GC(t.Context(), true, func(gc.Suspect) error { return nil }); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %s", test.name, err, test.want)
		}
	}
}
