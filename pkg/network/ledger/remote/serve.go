// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

// entry is a line of the result: an allocation as stored in the ledger, or a resource in cooldown.
type entry struct {
	Allocation json.RawMessage `json:"allocation,omitempty"`
	Resting    *ledger.Thing   `json:"resting,omitempty"`
	Until      time.Time       `json:"until,omitzero"`
	Last       network.Owner   `json:"last,omitzero"`
}

func (h *handler) allocations(ctx context.Context, a *answer, r *http.Request) error {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		return err
	}
	found := false
	err = ledger.Search(ctx, h.Store, q, func(e ledger.Entry) error {
		found = true
		if e.Allocation != nil {
			return a.line(entry{Allocation: e.Value})
		}
		return a.line(entry{Resting: &e.Thing, Until: e.Until, Last: e.Last})
	})
	if err == nil && !found {
		a.begin()
	}
	return err
}

// The fields of a query in a URL.
func queryFields(q *ledger.Query) map[string]*string {
	return map[string]*string{
		"pool": &q.Pool, "owner": &q.Owner, "state": (*string)(&q.State), "node": &q.Node, "namespace": &q.Namespace,
	}
}

func parseQuery(values url.Values) (q ledger.Query, err error) {
	fields := queryFields(&q)
	for name := range values {
		text := values.Get(name)
		switch into, known := fields[name]; {
		case known:
			*into = text
		case name == "address":
			q.Address, err = netip.ParseAddr(text)
		case name == "before":
			q.Before, err = time.Parse(time.RFC3339Nano, text)
		default:
			err = fmt.Errorf("there is no filter of this name")
		}
		if err != nil {
			return q, &Problem{http.StatusBadRequest, fmt.Sprintf("%s: %s", name, err)}
		}
	}
	return q, nil
}

func formatQuery(q ledger.Query) url.Values {
	values := url.Values{}
	for name, text := range queryFields(&q) {
		if *text != "" {
			values.Set(name, *text)
		}
	}
	if q.Address.IsValid() {
		values.Set("address", q.Address.String())
	}
	if !q.Before.IsZero() {
		values.Set("before", q.Before.UTC().Format(time.RFC3339Nano))
	}
	return values
}

func (h *handler) export(ctx context.Context, a *answer, r *http.Request) error {
	var o archive.ExportOptions
	if r.URL.Query().Get("leaveOutBroken") == "true" {
		o.Broken = func(*ledger.BrokenRow) {}
	}
	a.begin()
	done, err := archive.Export(ctx, h.Store, a, o)
	a.w.Header().Set(trailerEven, strconv.FormatBool(done.Even))
	a.w.Header().Set(trailerBroken, strconv.Itoa(done.Broken))
	return err
}

// verification is a line of verify's response.
type verification struct {
	Rows   int            `json:"rows,omitempty"`
	Report *ledger.Report `json:"report,omitempty"`
}

func (h *handler) verify(ctx context.Context, a *answer, _ *http.Request) error {
	said := h.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	report, err := ledger.Verify(ctx, h.Store, ledger.VerifyOptions{Now: said, Progress: func(rows int) {
		if now := h.Now(); now.Sub(said) >= time.Second {
			said = now
			if a.line(verification{Rows: rows}) != nil {
				cancel() // the client has disconnected
			}
		}
	}})
	if err != nil {
		return err
	}
	return a.line(verification{Report: report})
}

// released is the request and the answer of a release.
type released struct {
	Owner network.Owner `json:"owner"`
}

func (h *handler) release(ctx context.Context, a *answer, r *http.Request) error {
	var wanted released
	if err := decode(r, &wanted); err != nil {
		return err
	}
	raw, err := find(ctx, h.Store, wanted.Owner)
	if err != nil {
		return err
	}
	a.extend(h.Budget + h.Stall)
	if err := h.Release(ctx, wanted.Owner); err != nil {
		return err
	}
	return a.value(entry{Allocation: raw})
}

// find returns the allocation of an owner as stored in the ledger. The error wraps network.ErrNotHeld.
func find(ctx context.Context, store ledger.Store, owner network.Owner) (raw []byte, err error) {
	if strings.HasSuffix(owner.Key, "*") || owner.Key == "" {
		return nil, &Problem{http.StatusBadRequest, "name one owner"}
	}
	err = ledger.Search(ctx, store, ledger.Query{Owner: owner.String()}, func(e ledger.Entry) error {
		raw = bytes.Clone(e.Value)
		return nil
	})
	if err == nil && raw == nil {
		err = network.ErrNotHeld
	}
	return raw, err
}

// ErrNoCluster means that holders cannot be queried, so that no allocation can be released.
var ErrNoCluster = &Problem{http.StatusNotImplemented, "the server has no client of Kubernetes, and so cannot know who lives: give it one (kubernetes.kubeconfig)"}

func (h *handler) gc(ctx context.Context, a *answer, r *http.Request) error {
	if h.GC == nil {
		return ErrNoCluster
	}
	found := false
	err := h.GC(ctx, r.URL.Query().Get("dryRun") == "true", func(s Suspect) error {
		found = true
		return a.line(s)
	})
	if err == nil && !found {
		a.begin()
	}
	return err
}

// oneLine returns a text as the value of a header.
func oneLine(text string) string {
	return strings.Map(func(char rune) rune {
		if char < ' ' || char == 0x7f {
			return ' '
		}
		return char
	}, text)
}
