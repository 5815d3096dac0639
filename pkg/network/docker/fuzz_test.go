// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
)

// seeds adds the requests of the cases and the transcripts to methods with a prefix.
func seeds(f *testing.F, prefix string) {
	f.Helper()
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no test cases found", err)
	}
	for _, file := range files {
		for _, s := range readSteps(f, file) {
			if method, ok := strings.CutPrefix(s.Call, prefix); ok {
				f.Add(method, string(s.Body))
			}
		}
	}
	files, err = filepath.Glob("testdata/transcripts/v2/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no transcripts found", err)
	}
	for _, file := range files {
		for _, e := range readTranscript(f, file) {
			if method, ok := strings.CutPrefix(e.Method, prefix); ok {
				f.Add(method, string(e.Request))
			}
		}
	}
}

// answered checks the properties of all answers, and returns the answer.
func answered(t *testing.T, w *world, method, body string) map[string]any {
	t.Helper()
	status, text, header := w.send(http.MethodPost, "/"+method, body)
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil || header.Get("Content-Type") != mediaType {
		t.Fatalf("%s: got %d %s %q", method, status, header.Get("Content-Type"), text)
	}
	why, failed := answer["Err"].(string)
	switch {
	case status != http.StatusOK && status != http.StatusBadRequest && status != http.StatusNotFound:
		t.Fatalf("%s: got %d %s", method, status, text)
	case status != http.StatusOK && !failed, failed && why == "", len(why) > 1000, strings.ContainsAny(why, "\n\r\x00\x1b"):
		t.Fatalf("%s: got %d %q", method, status, text)
	case strings.HasPrefix(method, "IpamDriver.") && answer["Err"] != answer["Error"]:
		t.Fatalf("%s: got %d %s", method, status, text)
	}
	if failed {
		return nil
	}
	return answer
}

// path reports whether a method can be in a URL.
func path(method string) bool {
	return strings.IndexFunc(method, func(r rune) bool { return r < 'A' || r > 'z' }) < 0
}

// FuzzNetworkDriver checks that Docker accepts the answer to any request, and that equal requests get equal answers.
func FuzzNetworkDriver(f *testing.F) {
	seeds(f, "NetworkDriver.")
	w := newNetwork(f)
	f.Fuzz(func(t *testing.T, method, body string) {
		if !path(method) {
			return
		}
		answer := answered(t, w, "NetworkDriver."+method, body)
		if answer == nil {
			return
		}
		var asked struct {
			NetworkID, EndpointID string
			Interface             struct{ Address, AddressIPv6, MacAddress string }
		}
		if err := json.Unmarshal([]byte(body), &asked); err != nil && method != "GetCapabilities" {
			t.Fatal(err)
		}
		switch method {
		case "CreateNetwork":
			answered(t, w, "NetworkDriver.DeleteNetwork", `{"NetworkID":"`+asked.NetworkID+`"}`)
			w.call("NetworkDriver.CreateNetwork", createNetwork)
		case "CreateEndpoint":
			made, _ := answer["Interface"].(map[string]any)
			for key, was := range map[string]string{
				"Address": asked.Interface.Address, "AddressIPv6": asked.Interface.AddressIPv6, "MacAddress": asked.Interface.MacAddress,
			} {
				acceptable(t, key, was, made[key])
			}
			if answered(t, w, "NetworkDriver.CreateEndpoint", body) == nil {
				t.Fatal("the same again is refused")
			}
			answered(t, w, "NetworkDriver.DeleteEndpoint", `{"NetworkID":"`+asked.NetworkID+`","EndpointID":"`+asked.EndpointID+`"}`)
		}
	})
}

// acceptable checks that Docker's client takes a part of an interface.
func acceptable(t *testing.T, key, was string, is any) {
	t.Helper()
	text, _ := is.(string)
	if text == "" {
		return
	}
	if was != "" {
		t.Fatalf("%s was %s and is %s", key, was, text)
	}
	var err error
	if key == "MacAddress" {
		_, err = net.ParseMAC(text)
	} else {
		_, _, err = net.ParseCIDR(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzIPAMDriver checks that Docker accepts the answer to any request, and that allocated addresses belong to the pool
// and can be released.
func FuzzIPAMDriver(f *testing.F) {
	seeds(f, "IpamDriver.")
	w := newNetwork(f)
	f.Fuzz(func(t *testing.T, method, body string) {
		if !path(method) {
			return
		}
		answer := answered(t, w, "IpamDriver."+method, body)
		if answer == nil {
			return
		}
		switch method {
		case "RequestPool":
			pool, _ := json.Marshal(map[string]any{"PoolID": answer["PoolID"]})
			if _, err := netip.ParsePrefix(answer["Pool"].(string)); err != nil {
				t.Fatal(err)
			}
			if answered(t, w, "IpamDriver.ReleasePool", string(pool)) == nil {
				t.Fatal("releasing the allocated pool or address failed")
			}
		case "RequestAddress":
			var asked struct{ PoolID string }
			if err := json.Unmarshal([]byte(body), &asked); err != nil {
				t.Fatal(err)
			}
			given, err := netip.ParsePrefix(answer["Address"].(string))
			if err != nil {
				t.Fatal(err)
			}
			back, _ := json.Marshal(map[string]any{"PoolID": asked.PoolID, "Address": given.Addr().String()})
			if answered(t, w, "IpamDriver.ReleaseAddress", string(back)) == nil {
				t.Fatal("releasing the allocated pool or address failed")
			}
		}
	})
}
