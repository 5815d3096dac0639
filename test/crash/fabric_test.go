// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// fabric is the cloud behind the pool. It delivers an address to one owner at a time, and records impossible requests.
type fabric struct {
	*httptest.Server

	mutex    sync.Mutex
	bound    map[string]string // address → owner
	links    map[string]string // a VLAN of an interface of a node → owner
	problems []string
	// reached is called at each point; it may kill the server, and returns whether the call is answered.
	reached func(point) bool
}

func newFabric() *fabric {
	f := &fabric{bound: map[string]string{}, links: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /ports/{addresses}", f.bind)
	mux.HandleFunc("DELETE /ports/{addresses}", f.unbind)
	mux.HandleFunc("GET /ports/{addresses}", f.find)
	f.Server = httptest.NewServer(mux)
	DeferCleanup(f.Close)
	return f
}

// call completes a call, unless the server is killed before.
func (f *fabric) call(w http.ResponseWriter, arrives, done, answered point, do func() int) {
	if !f.reached(arrives) {
		panic(http.ErrAbortHandler)
	}
	f.mutex.Lock()
	status := do()
	f.mutex.Unlock()
	if !f.reached(done) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{}`))
	_ = http.NewResponseController(w).Flush()
	f.reached(answered)
}

// locked begins the addresses that the cloud refuses to bind.
const locked = "10.3.1."

func (f *fabric) bind(w http.ResponseWriter, r *http.Request) {
	var body struct{ Owner, Link string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Owner == "" {
		http.Error(w, "a body with an owner is wanted", http.StatusBadRequest)
		return
	}
	addresses := r.PathValue("addresses")
	f.call(w, bindArrives, bindDone, bindAnswered, func() int {
		if strings.HasPrefix(addresses, locked) {
			return http.StatusUnprocessableEntity
		}
		if held := f.links[body.Link]; body.Link != "" && held != "" && held != body.Owner {
			problem := fmt.Sprintf("the VLAN %s is that of %s and was to be that of %s", body.Link, held, body.Owner)
			f.problems = append(f.problems, problem)
			return http.StatusConflict
		}
		for address := range strings.SplitSeq(addresses, ",") {
			if held := f.bound[address]; held != "" && held != body.Owner {
				problem := fmt.Sprintf("%s is bound for %s and was to be bound for %s", address, held, body.Owner)
				f.problems = append(f.problems, problem)
				return http.StatusConflict
			}
			f.bound[address] = body.Owner
		}
		if body.Link != "" {
			f.links[body.Link] = body.Owner
		}
		return http.StatusOK
	})
}

func (f *fabric) unbind(w http.ResponseWriter, r *http.Request) {
	addresses, owner := r.PathValue("addresses"), r.URL.Query().Get("owner")
	f.call(w, unbindArrives, unbindDone, unbindAnswered, func() int {
		status := http.StatusNotFound
		for address := range strings.SplitSeq(addresses, ",") {
			held := f.bound[address]
			if held != "" && held != owner {
				problem := fmt.Sprintf("%s is bound for %s and was to be unbound for %s", address, held, owner)
				f.problems = append(f.problems, problem)
				return http.StatusConflict
			}
			if held != "" {
				status = http.StatusOK
			}
			delete(f.bound, address)
		}
		maps.DeleteFunc(f.links, func(_, by string) bool { return by == owner })
		return status
	})
}

func (f *fabric) find(w http.ResponseWriter, r *http.Request) {
	addresses, owner := r.PathValue("addresses"), r.URL.Query().Get("owner")
	f.call(w, findCalled, findCalled, findCalled, func() int {
		for address := range strings.SplitSeq(addresses, ",") {
			if f.bound[address] != owner {
				return http.StatusNotFound
			}
		}
		return http.StatusOK
	})
}

// wrong are the problems, line by line.
func (f *fabric) wrong() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return strings.Join(f.problems, "\n")
}

// holds returns the owner of a bound address.
func (f *fabric) holds(address string) string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.bound[address]
}

func (f *fabric) size() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.bound)
}
