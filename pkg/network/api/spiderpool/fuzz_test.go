// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seeds adds the bodies of the cases that go to a path.
func seeds(f *testing.F, path string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.http"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no test cases found: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range parseExchanges(string(content)) {
			if strings.HasSuffix(e.request, path) {
				f.Add(e.body)
			}
		}
	}
}

// fine are the possible statuses of any body.
var fine = []int{
	http.StatusOK, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity,
	http.StatusServiceUnavailable,
}

// FuzzAllocate checks that every item is answered with its address in the form of Go's net package, and that a
// repetition gets the same answer.
func FuzzAllocate(f *testing.F) {
	seeds(f, allocatePath)
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body string) {
		recorder := w.send(http.MethodPost, allocatePath, nil, body)
		if !slices.Contains(fine, recorder.Code) {
			t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
		}
		if recorder.Code != http.StatusOK {
			return
		}
		var asked struct{ IaasIPsAllocationRequest, SubEniRequests []struct{} }
		var answer struct {
			IaasIPsAllocationResponse []struct{ IPAddress string }
			SubEniResponses           []struct{ IPv4Address, IPv6Address string }
		}
		if err := json.Unmarshal([]byte(body), &asked); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.IaasIPsAllocationResponse) != len(asked.IaasIPsAllocationRequest) || len(answer.SubEniResponses) != len(asked.SubEniRequests) {
			t.Fatalf("items are missing: %s", recorder.Body)
		}
		for _, item := range answer.IaasIPsAllocationResponse {
			canonical(t, item.IPAddress)
		}
		for _, item := range answer.SubEniResponses {
			canonical(t, item.IPv4Address)
			canonical(t, item.IPv6Address)
		}
		if again := w.send(http.MethodPost, allocatePath, nil, body); again.Body.String() != recorder.Body.String() {
			t.Fatalf("want the same answer to the repeated request, got\n%sand before\n%s", again.Body, recorder.Body)
		}
	})
}

func canonical(t *testing.T, address string) {
	t.Helper()
	if address != "" && net.ParseIP(address).String() != address {
		t.Fatalf("%s is not in the canonical form", address)
	}
}

// FuzzRelease checks that a release succeeds or reports an error of the request.
func FuzzRelease(f *testing.F) {
	seeds(f, releasePath)
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body string) {
		recorder := w.send(http.MethodPost, releasePath, nil, body)
		if recorder.Code != http.StatusNoContent && (recorder.Code != http.StatusBadRequest || recorder.Body.Len() == 0) {
			t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
		}
	})
}
