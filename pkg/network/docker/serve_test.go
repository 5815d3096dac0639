// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

const (
	createNetwork = `{"NetworkID":"n1","IPv4Data":[{"AddressSpace":"LocalDefault","Pool":"172.20.0.0/16","Gateway":"172.20.0.1/16"}]}`
	endpointOne   = `{"NetworkID":"n1","EndpointID":"e1","Interface":{"Address":"172.20.0.2/16"}}`
)

// newNetwork is a world with the network n1.
func newNetwork(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.options.Log = logr.Discard()
	w.handler = docker.New(w.options)
	w.must("NetworkDriver.CreateNetwork", createNetwork)
	return w
}

// must calls a method that succeeds.
func (w *world) must(method, body string) string {
	w.t.Helper()
	status, answer := w.call(method, body)
	if status != http.StatusOK || strings.Contains(answer, `"Err"`) {
		w.t.Fatalf("%s %s: got %d %s", method, body, status, answer)
	}
	return answer
}

// TestAnswerWhileKernelHangs checks that Docker gets an answer in time although the kernel hangs, and that the next attempt finds the
// result.
func TestAnswerWhileKernelHangs(t *testing.T) {
	w := newNetwork(t)
	w.options.Patience = 50 * time.Millisecond
	w.handler = docker.New(w.options)
	release := make(chan struct{})
	w.kernel.hook = func(call string) {
		if call == "EnsurePort" {
			<-release
		}
	}
	status, answer := w.call("NetworkDriver.CreateEndpoint", endpointOne)
	if status != http.StatusOK || !strings.Contains(answer, "the work continues") {
		t.Errorf("got %d %s", status, answer)
	}
	w.kernel.mutex.Lock()
	w.kernel.hook = nil
	w.kernel.mutex.Unlock()
	close(release)
	w.options.Patience = 10 * time.Second
	w.handler = docker.New(w.options)
	w.must("NetworkDriver.CreateEndpoint", endpointOne)
}

// TestWorkIsFinishedWhenDockerIsKilled checks that started work is finished when Docker is killed.
func TestWorkIsFinishedWhenDockerIsKilled(t *testing.T) {
	w := newNetwork(t)
	ctx, leave := context.WithCancel(context.Background())
	w.kernel.hook = func(string) { leave() }
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/NetworkDriver.CreateEndpoint", strings.NewReader(endpointOne))
	w.handler.ServeHTTP(httptest.NewRecorder(), r)
	w.must("NetworkDriver.EndpointOperInfo", `{"NetworkID":"n1","EndpointID":"e1"}`)
}

// TestPanic checks that a panic reaches the goroutine of the request, where the server answers it.
func TestPanic(t *testing.T) {
	w := newNetwork(t)
	w.kernel.hook = func(string) { panic("with a secret") }
	defer func() {
		if p, ok := recover().(*wire.Panic); !ok || p.Value != "with a secret" || !strings.Contains(string(p.Stack), "EnsurePort") {
			t.Errorf("got %+v", p)
		}
	}()
	w.call("NetworkDriver.CreateEndpoint", endpointOne)
	t.Error("want a panic, got none")
}

// TestKernelErrors checks which parts of kernel errors are shown to users, and which only in the log.
func TestKernelErrors(t *testing.T) {
	w := newNetwork(t)
	for _, c := range []struct {
		err  error
		want string
	}{
		{
			fmt.Errorf("making it: %w: this kernel has no CONFIG_MACVLAN", link.ErrImpossible),
			"making the links of endpoint e1: making it: not possible: this kernel has no CONFIG_MACVLAN",
		},
		{fmt.Errorf("making it: %w", syscall.EBUSY), "making the links of endpoint e1: making it: device or resource busy"},
		{fmt.Errorf("making it: %w: the link went away", network.ErrUnavailable), "making the links of endpoint e1: making it: unavailable: the link went away"},
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EACCES}, "the server failed; its log has the reason"},
		{context.DeadlineExceeded, "it takes longer than the caller waits; the work continues: retry"},
		{&network.Busy{Of: "fabric", RetryAfter: time.Second}, "making the links of endpoint e1: busy: fabric is overloaded: the call would not end in time; try again in 1s"},
		{errors.New("with a secret"), "the server failed; its log has the reason"},
	} {
		w.kernel.fails["EnsurePort"] = c.err
		status, text := w.call("NetworkDriver.CreateEndpoint", endpointOne)
		var answer map[string]string
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer["Err"] != c.want || len(answer) != 1 {
			t.Errorf("got %d %s, want %s", status, text, c.want)
		}
	}
}

// TestFailed checks that a failed operation with status 200 is counted as an error.
func TestFailed(t *testing.T) {
	w := newNetwork(t)
	var told []string
	w.options.Failed = func(method string, ours bool) { told = append(told, fmt.Sprint(method, " ", ours)) }
	w.handler = docker.New(w.options)
	w.kernel.fails["EnsurePort"] = errors.New("broken")
	w.call("NetworkDriver.CreateEndpoint", endpointOne)
	w.call("NetworkDriver.CreateEndpoint", endpointOne)
	w.call("NetworkDriver.Join", `{"NetworkID":"n1","EndpointID":"e2","SandboxKey":"/s"}`)
	w.call("NetworkDriver.Join", "")
	w.call("NetworkDriver.Teleport", "")
	want := []string{"NetworkDriver.CreateEndpoint true", "NetworkDriver.Join false", "NetworkDriver.Join false", " false"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// TestActivationFails checks that Docker does not take a failed activation for a plugin without drivers.
func TestActivationFails(t *testing.T) {
	w := newNetwork(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	status, answer := w.call("Plugin.Activate", "")
	w.open()
	if status != http.StatusServiceUnavailable || answer != "{\"Err\":\"the ledger cannot be written; see the log of the server\"}\n" {
		t.Errorf("got %d %s", status, answer)
	}
}

// TestFormOfRefusals checks the form of the server's own refusals.
func TestFormOfRefusals(t *testing.T) {
	for path, want := range map[string]string{
		"/NetworkDriver.Join":     "{\"Err\":\"busy\"}\n",
		"/IpamDriver.RequestPool": "{\"Err\":\"busy\",\"Error\":\"busy\"}\n",
	} {
		recorder := httptest.NewRecorder()
		docker.Refuse(recorder, httptest.NewRequest(http.MethodPost, path, http.NoBody), &wire.Problem{Status: 429, Message: "busy", RetryAfter: time.Second})
		header := recorder.Header()
		if recorder.Code != 429 || recorder.Body.String() != want || header.Get("Retry-After") != "1" || header.Get("Content-Type") != mediaType {
			t.Errorf("got %d %s %v", recorder.Code, recorder.Body, header)
		}
	}
}

// TestEndpoint checks that metrics have few endpoint names.
func TestEndpoint(t *testing.T) {
	for path, want := range map[string]string{
		"/Plugin.Activate": "Plugin.Activate", "/NetworkDriver.Join": "NetworkDriver.Join", "/IpamDriver.ReleasePool": "IpamDriver.ReleasePool",
		"NetworkDriver.Join": "", "/NetworkDriver.Teleport": "", "/": "", "": "", "//NetworkDriver.Join": "",
	} {
		if got := docker.Endpoint(path); got != want {
			t.Errorf("%q: got %q", path, got)
		}
	}
}

// TestScopes checks the reported scopes of networks and addresses: a Swarm's managers and nodes need the same ones.
func TestScopes(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ scope, connectivity, local, want string }{
		{"", "", ipam.LocalSpace, `{"Scope":"local","ConnectivityScope":"local","GwAllocChecker":true}`},
		{"global", "", ipam.GlobalSpace, `{"Scope":"global","ConnectivityScope":"global","GwAllocChecker":true}`},
		{"local", "global", ipam.LocalSpace, `{"Scope":"local","ConnectivityScope":"global","GwAllocChecker":true}`},
	} {
		w.options.Scope, w.options.Connectivity = c.scope, c.connectivity
		w.handler = docker.New(w.options)
		if got := w.must("NetworkDriver.GetCapabilities", ""); got != c.want+"\n" {
			t.Errorf("got %s", got)
		}
		spaces := `{"LocalDefaultAddressSpace":"` + c.local + `","GlobalDefaultAddressSpace":"` + ipam.GlobalSpace + `"}`
		if got := w.must("IpamDriver.GetDefaultAddressSpaces", ""); got != spaces+"\n" {
			t.Errorf("got %s", got)
		}
	}
}

// TestLargeBody checks that the size of a body is limited, with an error that Docker can display.
func TestLargeBody(t *testing.T) {
	w := newWorld(t)
	w.options.MaximumBytes = 64
	w.handler = docker.New(w.options)
	status, answer := w.call("NetworkDriver.DeleteNetwork", `{"NetworkID":"`+strings.Repeat("n", 100)+`"}`)
	if status != http.StatusRequestEntityTooLarge || answer != "{\"Err\":\"the body is larger than 64 bytes\"}\n" {
		t.Errorf("got %d %s", status, answer)
	}
}

// TestConcurrent creates and removes endpoints concurrently.
func TestConcurrent(t *testing.T) {
	w := newNetwork(t)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			id := fmt.Sprintf(`"NetworkID":"n1","EndpointID":"e%d"`, i)
			for range 2 {
				w.call("NetworkDriver.CreateEndpoint", fmt.Sprintf(`{%s,"Interface":{"Address":"172.20.1.%d/16"}}`, id, i+1))
				_, answer := w.call("NetworkDriver.Join", fmt.Sprintf(`{%s,"SandboxKey":"/s%d"}`, id, i))
				if !strings.Contains(answer, `"Gateway":"172.20.0.1"`) {
					t.Errorf("got %s", answer)
				}
				for _, method := range []string{"ProgramExternalConnectivity", "EndpointOperInfo", "RevokeExternalConnectivity", "Leave", "DeleteEndpoint"} {
					if _, answer := w.call("NetworkDriver."+method, "{"+id+"}"); strings.Contains(answer, "Err") {
						t.Errorf("%s: got %s", method, answer)
					}
				}
			}
		})
	}
	all.Wait()
	w.must("NetworkDriver.DeleteNetwork", `{"NetworkID":"n1"}`)
	if links := w.kernel.links(); len(links) > 0 {
		t.Errorf("links remain: %s", links)
	}
}

// TestManaged checks that a managed plugin, which Docker starts without an activation, treats the first request for its
// IPAM driver as its start, once.
func TestManaged(t *testing.T) {
	const pool, taken = `{"AddressSpace":"graft-local","Pool":"10.64.0.0/24","Options":{}}`, "is leased to another network"
	for _, c := range []struct {
		name   string
		before []string
		again  bool
	}{
		{"starts at the first request of a managed plugin", []string{"IpamDriver.GetCapabilities"}, true},
		{"does not start again at the second request", []string{"IpamDriver.GetCapabilities", "IpamDriver.RequestPool", "IpamDriver.GetCapabilities"}, false},
		{"with a systemd socket", []string{"Plugin.Activate", "IpamDriver.GetCapabilities"}, true},
		{"with a systemd socket, started without it", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.must("Plugin.Activate", "")
			w.must("IpamDriver.RequestPool", pool)
			w.must("IpamDriver.RequestAddress", `{"PoolID":"local/overlay/10.64.0.0/24","Address":"10.64.0.12"}`)
			w.handler = docker.New(w.options)
			for _, method := range c.before {
				w.must(method, map[bool]string{true: pool}[method == "IpamDriver.RequestPool"])
			}
			_, answer, _ := w.send(http.MethodPost, "/IpamDriver.RequestPool", pool)
			if refused := strings.Contains(answer, taken); refused == c.again {
				t.Errorf("unexpected answer to the repeated request for the pool: %s", answer)
			}
		})
	}
}

// TestLog checks the log at level info: created and removed networks, and refused requests with caller and reason.
func TestLog(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	w := newWorld(t)
	var lines []string
	w.options.Log = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	w.handler = docker.New(w.options)
	network := `{"NetworkID":"` + id + `","Options":{"com.docker.network.generic":{%s}},` +
		`"IPv4Data":[{"AddressSpace":"LocalDefault","Pool":"172.31.9.0/24","Gateway":"172.31.9.1/24"}]}`
	w.must("NetworkDriver.CreateNetwork", fmt.Sprintf(network, ""))
	w.must("NetworkDriver.CreateEndpoint", `{"NetworkID":"`+id+`","EndpointID":"e1","Interface":{"Address":"172.31.9.2/24"}}`)
	w.must("NetworkDriver.DeleteEndpoint", `{"NetworkID":"`+id+`","EndpointID":"e1"}`)
	w.must("NetworkDriver.DeleteNetwork", `{"NetworkID":"`+id+`"}`)
	w.send(http.MethodPost, "/NetworkDriver.CreateNetwork", fmt.Sprintf(network, `"knid":"bridge"`))
	w.send(http.MethodPost, "/NetworkDriver.CreateEndpoint", `{"NetworkID":"`+id+`","EndpointID":"e1","Interface":{"Address":"172.31.9.2/24"}}`)
	w.send(http.MethodPost, "/NetworkDriver.NotYet", `{}`)
	want := []string{
		`"msg"="Created a network" "network"="0123456789ab"`,
		`"msg"="Removed a network" "network"="0123456789ab"`,
		`"msg"="A request was refused" "method"="NetworkDriver.CreateNetwork" "status"=200 "network"="0123456789ab" "fault"="caller" ` +
			`"why"="not possible: there is no option \"knid\"`,
		`"msg"="A request was refused" "method"="NetworkDriver.CreateEndpoint" "status"=200 "network"="0123456789ab" "endpoint"="e1" "fault"="caller" ` +
			`"why"="unknown network`,
	}
	if len(lines) != len(want) {
		t.Fatalf("there are %d lines, and should be %d: %s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for i, line := range lines {
		if !strings.Contains(strings.ReplaceAll(line, `\"`, `"`), strings.ReplaceAll(want[i], `\"`, `"`)) {
			t.Errorf("line %d is %s, and should have %s", i, line, want[i])
		}
	}
}
