// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// timeout limits the calls of the cloud. A call can take effect until twice as long after its start.
const timeout = 2 * time.Second

// port is a binding in the cloud: an address of an owner.
type port struct{ Address, Owner string }

// fabric is a cloud that is slow, fails, hangs, loses answers, repeats calls, and binds after its caller has given up.
type fabric struct {
	*httptest.Server
	mutex    sync.Mutex
	random   *rand.Rand
	ports    map[string]port // by the name that the provider gives them
	problems []string
	// calm is set when no call fails any more.
	calm bool
}

func newFabric(random *rand.Rand) *fabric {
	f := &fabric{random: random, ports: map[string]port{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /ports/{name}", func(w http.ResponseWriter, r *http.Request) {
		var p port
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Address == "" || p.Owner == "" {
			http.Error(w, "an address and an owner are required", http.StatusBadRequest)
			return
		}
		f.fail(w, true, func() int { return f.bind(r.PathValue("name"), p) })
	})
	mux.HandleFunc("DELETE /ports/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.fail(w, false, func() int {
			delete(f.ports, r.PathValue("name"))
			return http.StatusOK
		})
	})
	mux.HandleFunc("GET /ports/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.fail(w, false, func() int {
			if _, found := f.ports[r.PathValue("name")]; found {
				return http.StatusOK
			}
			return http.StatusNotFound
		})
	})
	f.Server = httptest.NewServer(mux)
	DeferCleanup(f.Close)
	return f
}

// bind binds an address, unless another owner has it.
func (f *fabric) bind(name string, p port) int {
	for other, of := range f.ports {
		if of.Address == p.Address && other != name {
			f.problems = append(f.problems, fmt.Sprintf("%s is bound for %s, and %s asked for it", p.Address, of.Owner, p.Owner))
			return http.StatusConflict
		}
	}
	f.ports[name] = p
	return http.StatusOK
}

// fail performs a call, or fails in one of the ways of a cloud.
func (f *fabric) fail(w http.ResponseWriter, late bool, do func() int) {
	locked := func() int {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return do()
	}
	f.mutex.Lock()
	chance := f.random.IntN(100)
	if f.calm {
		chance = 100
	}
	f.mutex.Unlock()
	switch {
	case chance < 3: // it hangs
		time.Sleep(timeout + timeout/4)
		panic(http.ErrAbortHandler)
	case chance < 5 && late: // it is done after the caller has given up
		time.AfterFunc(timeout+timeout/4, func() { locked() })
		time.Sleep(timeout + timeout/2)
		panic(http.ErrAbortHandler)
	case chance < 11:
		http.Error(w, "a failure", http.StatusInternalServerError)
		return
	case chance < 17: // the answer is lost
		locked()
		panic(http.ErrAbortHandler)
	case chance < 22: // it is done twice
		locked()
	case chance < 28:
		time.Sleep(timeout / 20)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(locked())
	_, _ = w.Write([]byte(`{}`))
}

// recover ends all failures.
func (f *fabric) recover() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calm = true
}

// owners returns the owner of each address.
func (f *fabric) owners() map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := map[string]string{}
	for _, p := range f.ports {
		all[p.Address] = client(p.Owner)
	}
	return all
}

// wrong returns the requests for addresses that another owner has.
func (f *fabric) wrong() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.problems
}
