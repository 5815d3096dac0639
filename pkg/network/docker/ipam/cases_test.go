// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// TestCases checks the answers to clients.
func TestCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Steps string
		Held, Bound *[]string
	}
	if err := yaml.Unmarshal(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t)
			for step := range strings.Lines(c.Steps) {
				ask, want, ok := strings.Cut(strings.TrimSpace(step), " => ")
				if !ok {
					t.Fatalf("the step %q has no expected answer", step)
				}
				if got := w.do(ask); !matches(want, got) {
					t.Errorf("%s:\n got %s\nwant %s", ask, got, want)
				}
			}
			if c.Held != nil {
				if diff := cmp.Diff(*c.Held, w.held(), emptyIsNil); diff != "" {
					t.Errorf("held (-want +got):\n%s", diff)
				}
			}
			if c.Bound != nil {
				if diff := cmp.Diff(*c.Bound, w.cloud.bound(), emptyIsNil); diff != "" {
					t.Errorf("bound (-want +got):\n%s", diff)
				}
			}
			w.even()
		})
	}
}

var emptyIsNil = cmp.Transformer("nil", func(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
})

// matches compares an answer with the expected one, which may contain wildcards.
func matches(want, got string) bool {
	before, after, open := strings.Cut(want, "*")
	if !open {
		return want == got
	}
	return strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
}

// do executes a step, and returns its answer.
func (w *world) do(step string) string {
	words := strings.Fields(step)
	answer, err := w.step(words[0], words[1:])
	if err != nil {
		return "! " + err.Error()
	}
	if answer == "" {
		return "ok"
	}
	return answer
}

func (w *world) step(verb string, words []string) (string, error) {
	ctx := context.Background()
	words, options := optionsOf(words)
	at := func(i int) string {
		if i < len(words) {
			return strings.Trim(words[i], `"`)
		}
		return ""
	}
	switch verb {
	case "pool":
		p, err := w.RequestPool(ctx, poolRequest(words, options))
		return p.ID, err
	case "gateway", "address", "swarm":
		return w.address(ctx, verb, at(0), at(1), options)
	case "free":
		return "", w.ReleaseAddress(ctx, at(0), netip.MustParseAddr(at(1)))
	case "end":
		return "", w.ReleasePool(ctx, at(0))
	case "activate":
		return "", w.Activate(ctx)
	case "restart":
		return "", w.begin()
	case "foreign":
		return "", w.foreign(at(0), at(1))
	}
	return w.setting(ctx, verb, words)
}

// setting does a step that is not the client's.
func (w *world) setting(ctx context.Context, verb string, words []string) (string, error) {
	switch verb {
	case "retire":
		w.retire(words[0])
	case "wait":
		d, err := time.ParseDuration(words[0])
		w.clock.Step(d)
		return "", err
	case "sweep":
		w.freed = nil
		if err := w.Sweep(ctx); err != nil || len(w.freed) == 0 {
			return "", err
		}
		slices.Sort(w.freed)
		return "freed " + strings.Join(w.freed, " "), nil
	case "known":
		subnet := netip.MustParsePrefix(words[0])
		w.networks[subnet] = nil
		for _, word := range words[1:] {
			w.networks[subnet] = append(w.networks[subnet], netip.MustParseAddr(word))
		}
	case "named":
		return "", w.RecordNetwork(ctx, ipam.LocalSpace, netip.MustParsePrefix(words[0]), words[1])
	case "begun":
		return "", w.begun(ctx, words[0], netip.MustParseAddr(words[1]))
	case "refuse":
		w.cloud.fail(netip.MustParseAddr(words[0]), fmt.Errorf("%w: no", network.ErrRefused))
	case "break":
		w.cloud.fail(netip.MustParseAddr(words[0]), errBroken)
	case "mend":
		clear(w.cloud.fails)
	case "settled":
		return "", w.settle()
	default:
		return "", errors.New("there is no such step")
	}
	return "", nil
}

// begun changes allocations to the state after a crash before the cloud's answer.
func (w *world) begun(ctx context.Context, pool string, address netip.Addr) error {
	a, err := w.ledger.ByAddress(ctx, pool, address)
	if err == nil {
		err = w.ledger.Delete(ctx, a.Owner, w.clock.Now(), w.clock.Now())
	}
	if err == nil {
		_, _, err = w.ledger.Reserve(ctx, ledger.Intent{
			Owner: a.Owner, Pool: pool, Addresses: a.Addresses, Families: []int{}, Holder: a.Holder, State: network.Intended, Now: w.clock.Now(),
		})
	}
	return err
}

// settle waits for the end of background work.
func (w *world) settle() error {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.service.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for deadline := time.Now().Add(10 * time.Second); w.service.Pending() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("what goes on in the background comes to no end")
		}
		w.clock.Step(time.Second) // for retries
	}
	return nil
}

func (w *world) address(ctx context.Context, verb, id, address string, options map[string]string) (string, error) {
	var wanted netip.Addr
	if address != "" {
		wanted = netip.MustParseAddr(address)
	}
	switch verb {
	case "gateway":
		options["RequestAddressType"] = "com.docker.network.gateway"
	case "swarm":
		options["com.docker.network.ipam.serial"] = "true"
	}
	given, err := w.RequestAddress(ctx, id, wanted, options)
	if err != nil {
		return "", err
	}
	return given.String(), nil
}

// optionsOf parts words from options.
func optionsOf(words []string) (rest []string, options map[string]string) {
	options = map[string]string{}
	for _, word := range words {
		if name, value, is := strings.Cut(word, "="); is {
			options[name] = value
		} else {
			rest = append(rest, word)
		}
	}
	return rest, options
}

func poolRequest(words []string, options map[string]string) ipam.PoolRequest {
	r := ipam.PoolRequest{Space: words[0], Options: options}
	switch words[0] {
	case "local":
		r.Space = ipam.LocalSpace
	case "global":
		r.Space = ipam.GlobalSpace
	}
	for _, word := range words[1:] {
		switch prefix, err := netip.ParsePrefix(word); {
		case word == "six":
			r.Six = true
		case err != nil:
		case r.Subnet.IsValid():
			r.Within = prefix
		default:
			r.Subnet = prefix
		}
	}
	return r
}
