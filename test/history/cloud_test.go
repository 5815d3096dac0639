// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/test/history/checker"
)

// timeout limits the calls of the cloud. A call can take effect until twice as long after its start.
const timeout = 2 * time.Second

// port is a binding in the cloud: an address of an owner.
type port struct{ Address, Owner string }

// fabric is a cloud that is slow, fails, hangs, loses answers, repeats calls, and binds after its caller has given up.
type fabric struct {
	*httptest.Server
	seed     uint64
	mutex    sync.Mutex
	random   *rand.Rand
	ports    map[string]port // by the provider's names
	problems []string
	// calm is set when no call fails any more.
	calm bool
}

func newFabric(seed uint64) *fabric {
	f := &fabric{seed: seed, random: rand.New(rand.NewPCG(seed, 100)), ports: map[string]port{}}
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

const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: history}
clouds:
  fabric:
    limit: {parallel: 32}
    timeout: %[2]s
    http:
      url: %[1]s
      bind:
        method: PUT
        path: "/ports/${ allocation.id }"
        body: {address: "${ allocation.addresses[0] }", owner: "${ allocation.owner }"}
      unbind: {method: DELETE, path: "/ports/${ allocation.id }"}
      find: {method: GET, path: "/ports/${ allocation.id }"}
pools:
  chosen: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.5]}],
    cloud: fabric, quarantine: 0s, exclusive: true}
  named:
    subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.3]}]
    vlans: 100-200
    macPrefix: "0a:58"
    quarantine: 0s
    cloud: fabric
    exclusive: true
profiles:
  chosen: {pools: [chosen]}
`

// world starts programs that use the cloud.
func (f *fabric) world(ledger string, programs int) *checker.World {
	GinkgoHelper()
	w := checker.New(f.seed, f, fmt.Sprintf(profile, f.URL, timeout))
	w.Start(ledger, programs)
	return w
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
	case chance < 5 && late: // it ends after the caller has given up
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

// Recover implements checker.Cloud.
func (f *fabric) Recover() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calm = true
}

// Owners implements checker.Cloud.
func (f *fabric) Owners(context.Context) map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := map[string]string{}
	for _, p := range f.ports {
		all[p.Address] = p.Owner
	}
	return all
}

// wrong returns the requests for addresses that another owner has.
func (f *fabric) wrong() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.problems
}
