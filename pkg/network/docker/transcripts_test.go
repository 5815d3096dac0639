// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
)

// exchange is a request of a real controller of Docker to a stand-in for this plugin, and the answer (test/libnetwork).
type exchange struct {
	Method, Host, Accept string
	Length               int
	Request, Answer      json.RawMessage
}

// refusals are exchanges with an error here, by transcript and method, because the stand-in accepted more.
var refusals = map[string]map[string]string{
	"endpoint-options": {"NetworkDriver.CreateEndpoint": `endpoints have no option "acme.com/colour"`},
	"published-port":   {"NetworkDriver.ProgramExternalConnectivity": "ports (8080/tcp) cannot be published"},
	"retry":            {"NetworkDriver.CreateEndpoint": "the request has no body"},
}

// kept are the parts of answers that must be as in the transcript, by method, because the controller's next requests
// depend on them.
var kept = map[string][]string{
	"Plugin.Activate": {"Implements"}, "NetworkDriver.GetCapabilities": {"ConnectivityScope", "GwAllocChecker"},
	"IpamDriver.GetCapabilities":         {"RequiresMACAddress", "RequiresRequestReplay"},
	"IpamDriver.GetDefaultAddressSpaces": {"LocalDefaultAddressSpace", "GlobalDefaultAddressSpace"},
	"IpamDriver.RequestPool":             {"PoolID", "Pool"}, "IpamDriver.RequestAddress": {"Address"},
}

// TestTranscripts replays recorded requests of the controllers of v28 and v2 and checks the answers.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts found", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(filepath.Base(filepath.Dir(file))+"/"+name, func(t *testing.T) {
			w := newWorldOf(t, "testdata/transcripts/profile.yaml")
			if name == "global" {
				w.options.Scope = docker.ScopeGlobal
				w.handler = docker.New(w.options)
			}
			for i, e := range readTranscript(t, file) {
				w.replay(fmt.Sprintf("%d %s", i+1, e.Method), e, refusals[name])
			}
			if held := w.held(); len(held) > 0 {
				t.Errorf("allocations remain at the end: %s", held)
			}
		})
	}
}

// pools maps the identifiers of pools in the transcripts to those in this test.
var pools = strings.NewReplacer("local/overlay/10.71", "local/first/10.71", "local/overlay/10.72", "local/second/10.72",
	"local/overlay/10.64", "local/third/10.64", "local/overlay/fd00", "local/third/fd00")

func readTranscript(t testing.TB, file string) []exchange {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal([]byte(pools.Replace(string(raw))), &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// replay sends the recorded requests. After a call that fails here, later calls for the same endpoint fail or do
// nothing.
func (w *world) replay(name string, e exchange, refused map[string]string) {
	w.t.Helper()
	if e.Length > 0 && e.Answer == nil {
		return // the connection was lost before the plugin had done anything
	}
	status, text := w.call(e.Method, string(e.Request))
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		w.t.Fatalf("%s: %s: %v", name, text, err)
	}
	failed, _ := answer["Err"].(string)
	if why, ok := refused[e.Method]; ok {
		if !strings.Contains(failed, why) {
			w.t.Errorf("%s: %s, want %s", name, text, why)
		}
		w.failed = w.failed || e.Method == "NetworkDriver.CreateEndpoint"
		return
	}
	if w.failed && strings.Contains(failed, "unknown endpoint") {
		return
	}
	if status != http.StatusOK || failed != "" || answer["Error"] != nil {
		w.t.Errorf("%s: %d %s", name, status, text)
		return
	}
	var was map[string]any
	if err := json.Unmarshal(e.Answer, &was); err != nil {
		w.t.Fatal(err)
	}
	for _, key := range kept[e.Method] {
		if diff := cmp.Diff(was[key], answer[key]); diff != "" {
			w.t.Errorf("%s: %s (-was +is):\n%s", name, key, diff)
		}
	}
	w.accepted(name, e, text)
}

// accepted checks rules of the controllers: no part of an interface that they have set, and no name that is too long.
func (w *world) accepted(name string, e exchange, text string) {
	w.t.Helper()
	type parts struct{ Address, AddressIPv6, MacAddress string }
	var asked, answer struct {
		Interface     parts
		Options       map[string]any
		InterfaceName struct{ SrcName, DstPrefix, DstName string }
	}
	if len(e.Request) > 0 {
		if err := json.Unmarshal(e.Request, &asked); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		w.t.Fatal(err)
	}
	said := []string{asked.Interface.Address, asked.Interface.AddressIPv6, asked.Interface.MacAddress}
	for i, of := range []string{answer.Interface.Address, answer.Interface.AddressIPv6, answer.Interface.MacAddress} {
		if of != "" && said[i] != "" {
			w.t.Errorf("%s: the recorded answer is %s, the actual one %s", name, said[i], of)
		}
	}
	if e.Method == "NetworkDriver.CreateEndpoint" && asked.Interface.MacAddress+answer.Interface.MacAddress == "" {
		w.t.Errorf("%s: the endpoint has no MAC address", name)
	}
	if got := answer.InterfaceName; e.Method == "NetworkDriver.Join" && (len(got.SrcName) != 14 || got.DstPrefix != "eth" || got.DstName != "") {
		w.t.Errorf("%s: %+v", name, got)
	}
}
