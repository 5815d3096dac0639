// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
)

// TestCall checks the input of a plugin and the binding from its result.
func TestCall(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "x")
	st := newStage(t, "1.0.0", script{Add: given})
	c := cni.New("lan", st.options)
	a := intent(1, "10.0.0.5")
	binding, err := c.Bind(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(binding)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"addresses":["10.0.0.5/24","fd00::5/64"],"routes":[{"destination":"0.0.0.0/0","gateway":"10.0.0.1"},{"destination":"fd01::/64","gateway":"fd00::1"}],` +
		`"reference":{"configuration":"lan","container":"graft-6979eeecb71118c32cd27af31fc1cf7e","interface":"gr40805f4a01fa5","namespace":"team-a",` +
		`"pod":"graft-6979eeecb71118c32cd27af31fc1cf7e","uid":"6979eeec-b711-18c3-2cd2-7af31fc1cf7e"}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("binding (-want +got):\n%s", diff)
	}
	a.Binding, a.State = binding, network.Bound
	// The configuration of the pool has changed: bindings of the old one are released with it.
	if err := cni.New("another", st.options).Unbind(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	calls := st.calls()
	if diff := cmp.Diff("ADD DEL", st.commands()); diff != "" {
		t.Fatalf("commands (-want +got):\n%s", diff)
	}
	for i, call := range calls {
		if call.value("SECRET_OF_THE_SERVER") != "" {
			t.Error("the plugin sees an environment variable of the server")
		}
		if name := call.value("CNI_IFNAME"); len(name) > 15 || name != calls[0].value("CNI_IFNAME") || call.value("CNI_CONTAINERID") != calls[0].value("CNI_CONTAINERID") {
			t.Errorf("call %d is of the interface %q in %q", i, name, call.value("CNI_CONTAINERID"))
		}
		if call.Input["name"] != "lan" || call.Input["cniVersion"] != "1.0.0" || call.value("CNI_PATH") != st.options.Plugins {
			t.Errorf("call %d has an unexpected configuration or environment: %v", i, call.Input)
		}
	}
	wanted := map[string]any{"ips": []any{"10.0.0.5"}}
	if diff := cmp.Diff([]any{map[string]any{"cni": wanted}, wanted}, []any{calls[0].Input["args"], calls[0].Input["runtimeConfig"]}); diff != "" {
		t.Errorf("what is wanted (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(calls[0].value("CNI_NETNS")); !os.IsNotExist(err) {
		t.Errorf("the network namespace %s: %v", calls[0].value("CNI_NETNS"), err)
	}
}

// TestOwners checks that owners differ in every value that plugins use as a key: whereabouts uses the Pod and the
// interface.
func TestOwners(t *testing.T) {
	st := newStage(t, "1.0.0", script{Add: given})
	for number := range 2 {
		if _, err := cni.New("lan", st.options).Bind(t.Context(), intent(number)); err != nil {
			t.Fatal(err)
		}
	}
	calls := st.calls()
	for _, name := range []string{"CNI_CONTAINERID", "CNI_IFNAME", "CNI_ARGS"} {
		if first, second := calls[0].value(name), calls[1].value(name); first == second {
			t.Errorf("both have %s=%s", name, first)
		}
	}
	if got := calls[0].value("CNI_ARGS"); !strings.HasPrefix(got, "IgnoreUnknown=1;K8S_POD_NAMESPACE=team-a;K8S_POD_NAME=graft-") {
		t.Errorf("arguments: %s", got)
	}
}

// TestNamespace checks that a namespace that looks like several CNI arguments is never passed to a plugin, and that an
// earlier binding with it is released.
func TestNamespace(t *testing.T) {
	st := newStage(t, "1.0.0", script{Add: given})
	a := intent(1)
	a.Holder.Namespace = "x;K8S_POD_NAME=evil"
	if _, err := cni.New("lan", st.options).Bind(t.Context(), a); !errors.Is(err, network.ErrNotSent) {
		t.Errorf("got %v", err)
	}
	for _, reference := range []string{"", `{"configuration":"lan","container":"c","interface":"i","namespace":"x;K8S_POD_NAME=evil","pod":"p","uid":"u"}`} {
		a.Binding.Reference = json.RawMessage(reference)
		if err := cni.New("lan", st.options).Unbind(t.Context(), a); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("DEL DEL", st.commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, call := range st.calls() {
		if got := call.value("CNI_ARGS"); !strings.HasPrefix(got, "IgnoreUnknown=1;K8S_POD_NAMESPACE=graft;K8S_POD_NAME=") {
			t.Errorf("arguments: %s", got)
		}
	}
}

// TestFailures checks the errors of failing plugins, and the calls after a failure.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		script   script
		want     string
		is       error
		after    time.Duration
		commands string
	}{
		"code and details": {
			script: script{Add: `{"cniVersion": "1.0.0", "code": 7, "msg": "invalid\nconfiguration", "details": "no range"}`, Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: invalid configuration: no range (code 7)", commands: "ADD DEL ADD",
		},
		"reports a range without free addresses": {
			script: script{Add: `{"code": 999, "msg": "no IP addresses available in range set: 10.0.0.1-10.0.0.6"}`, Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: no IP addresses available in range set: 10.0.0.1-10.0.0.6 (code 999)", is: network.ErrExhausted, commands: "ADD",
		},
		"reports an address in use": {
			script: script{Add: `{"code": 999, "msg": "requested IP address 10.0.0.5 is not available in range set"}`, Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: requested IP address 10.0.0.5 is not available in range set (code 999)", is: network.ErrTaken, commands: "ADD",
		},
		"try again later": {
			script: script{Add: `{"code": 11, "msg": "no lock"}`, Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: no lock (code 11); retry in 2s", after: 2 * time.Second, commands: "ADD",
		},
		"on the error output": {
			script: script{Add: "stderr:panic: out of luck\n", Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: panic: out of luck", commands: "ADD DEL ADD",
		},
		"reports a plugin that fails without output": {
			script: script{Fails: []string{"ADD"}},
			want:   "the CNI plugin playing says to ADD: nothing, and ended with exit status 1", commands: "ADD DEL ADD",
		},
		"DEL fails after a failed ADD": {
			script: script{Add: `{"msg": "twice"}`, Del: `{"msg": "read-only"}`, Fails: []string{"ADD", "DEL"}},
			want:   "the CNI plugin playing says to DEL: read-only", commands: "ADD DEL",
		},
		"a result without addresses": {
			script: script{Add: `{"cniVersion": "1.0.0"}`}, want: "refused by the cloud: the CNI plugin returned no address", is: network.ErrRefused, commands: "ADD",
		},
		"a result with two addresses of a family": {
			script: script{Add: `{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.5/24"}, {"address": "10.0.0.6/24"}]}`},
			want:   "refused by the cloud: the CNI plugin returned two addresses of one family; an allocation has at most one of each", is: network.ErrRefused, commands: "ADD",
		},
		"an output above the limit": {
			script: script{Add: strings.Repeat(" ", 1<<20) + given}, want: "running the CNI plugin playing for ADD: its output has more than 1048576 bytes", commands: "ADD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, "1.0.0", c.script)
			_, err := cni.New("lan", st.options).Bind(t.Context(), intent(1))
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if c.is != nil && (!errors.Is(err, c.is) || !errors.Is(err, network.ErrRefused)) || c.is == nil && errors.Is(err, network.ErrRefused) {
				t.Errorf("%v is not as it should be", err)
			}
			var later *cloud.RetryAfter
			if errors.As(err, &later); c.after > 0 && (later == nil || later.After != c.after) {
				t.Errorf("unexpected delay before the next attempt: %v", later)
			}
			if diff := cmp.Diff(c.commands, st.commands()); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOldVersion checks that plugins of old specifications work without the calls of later ones.
func TestOldVersion(t *testing.T) {
	st := newStage(t, "0.2.0", script{Add: `{"ip4": {"ip": "10.0.0.5/24", "gateway": "10.0.0.1", "routes": [{"dst": "0.0.0.0/0"}]}}`})
	c := cni.New("lan", st.options)
	binding, err := c.Bind(t.Context(), intent(1))
	if err != nil {
		t.Fatal(err)
	}
	if want := netip.MustParsePrefix("10.0.0.5/24"); binding.Addresses[0] != want || binding.Routes[0].Gateway.String() != "10.0.0.1" {
		t.Errorf("got %v and %v", binding.Addresses, binding.Routes)
	}
	if st.commands() != "ADD" {
		t.Errorf("got the calls %s", st.commands())
	}
}

// TestHangingPluginIsKilled checks that a hanging plugin is killed with its child processes at the timeout of the cloud or the caller.
func TestHangingPluginIsKilled(t *testing.T) {
	st := newStage(t, "1.0.0", script{Add: given, Hang: "ADD"})
	hasty := st.options
	hasty.Timeout = 100 * time.Millisecond
	_, err := cni.New("lan", hasty).Bind(t.Context(), intent(1))
	if want := "running the CNI plugin playing for ADD: it did not end within 100ms"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ended := make(chan error, 1)
	_ = os.Remove(st.record + ".child")
	go func() {
		_, err := cni.New("lan", st.options).Bind(ctx, intent(1))
		ended <- err
	}()
	var child []byte
	for deadline := time.Now().Add(time.Minute); len(child) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the plugin did not start its child process in time")
		}
		child, _ = os.ReadFile(st.record + ".child") // there is none before
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled after the caller has left, got %v", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		state, err := os.ReadFile("/proc/" + string(child) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the plugin's child process still runs: %s", state)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := cni.New("lan", st.options).Bind(short, intent(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the deadline error of the caller's context, got %v", err)
	}
}

// TestConfigurations checks the errors of incomplete configuration folders.
func TestConfigurations(t *testing.T) {
	st := newStage(t, "1.0.0", script{Add: given})
	st.write("20-bare.conf", map[string]any{"cniVersion": "1.0.0", "name": "bare", "type": "macvlan"})
	st.write("30-absent.conflist", map[string]any{"cniVersion": "1.0.0", "name": "absent", "plugins": []any{
		map[string]any{"type": "tuning"}, map[string]any{"type": "macvlan", "ipam": map[string]any{"type": "whereabouts"}},
	}})
	st.write("40-path.conf", map[string]any{"cniVersion": "1.0.0", "name": "path", "type": "macvlan", "ipam": map[string]any{"type": "../bin/playing"}})
	if err := cni.New("lan", st.options).Check(); err != nil {
		t.Error(err)
	}
	check := func(name, want string) {
		t.Helper()
		err := cni.New(name, st.options).Check()
		if err == nil || strings.NewReplacer(st.options.Configurations, "CONF", st.options.Plugins, "BIN").Replace(err.Error()) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	check("bare", "the CNI network configuration bare has no plugin with an ipam section")
	check("absent", "the CNI network configuration absent names the IPAM plugin whereabouts, which is not in BIN")
	check("path", "the CNI network configuration path names the IPAM plugin ../bin/playing, which is not in BIN")
	check("none", "the CNI network configuration none is not in CONF")
	if err := os.WriteFile(filepath.Join(st.options.Configurations, "00-broken.conflist"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("none", "the CNI network configuration none is not in CONF; unreadable files there: 00-broken.conflist")
	if err := cni.New("lan", st.options).Check(); err != nil {
		t.Errorf("beside a broken file: %v", err)
	}
}
