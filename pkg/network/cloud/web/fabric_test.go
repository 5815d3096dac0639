// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// port is a port of the fabric.
type port struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	IPs     []string `json:"ips"`
	MAC     string   `json:"mac"`
	Segment int      `json:"segment,omitempty"`
}

// fabric is a little cloud in memory, which breaks in the ways that real ones do.
type fabric struct {
	// faults are the possible faults. Each call gets a random one.
	faults []fault

	mutex   sync.Mutex
	chance  *rand.Rand
	last    int
	ports   map[string]*port // by name
	headers []http.Header
	// leaves disconnects the caller of a connection, by the address of its end.
	leaves map[string]func()
}

type fault int

const (
	none fault = iota
	// lost executes the call and closes the connection without an answer.
	lost
	// broken does nothing, and answers with an error.
	broken
	// slow executes the call, and its caller leaves before the answer.
	slow
	// busy does nothing, and asks to be left alone.
	busy
)

func newFabric(t *testing.T, faults ...fault) (*fabric, *httptest.Server) {
	f := &fabric{ports: map[string]*port{}, leaves: map[string]func(){}, faults: append(faults, none), chance: rand.New(rand.NewPCG(1, 2))}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server
}

func (f *fabric) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	f.headers = append(f.headers, r.Header)
	breaks := f.faults[f.chance.IntN(len(f.faults))]
	f.mutex.Unlock()
	switch breaks {
	case broken:
		http.Error(w, "an error inside", http.StatusInternalServerError)
		return
	case busy:
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	status, body := f.serve(r)
	switch breaks {
	case slow:
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice the disconnect
		f.mutex.Lock()
		leave := f.leaves[r.RemoteAddr]
		f.mutex.Unlock()
		leave()
		<-r.Context().Done()
	case lost:
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (f *fabric) serve(r *http.Request) (int, any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	mux := http.NewServeMux()
	status, body := http.StatusNotFound, any(nil)
	mux.HandleFunc("POST /v1/ports", func(_ http.ResponseWriter, r *http.Request) { status, body = f.create(r, "", http.StatusConflict) })
	mux.HandleFunc("PUT /v1/named/{name}", func(_ http.ResponseWriter, r *http.Request) {
		name, _ := url.PathUnescape(r.PathValue("name"))
		status, body = f.create(r, name, http.StatusOK)
	})
	mux.HandleFunc("GET /v1/ports", func(_ http.ResponseWriter, r *http.Request) { status, body = f.list(r.URL.Query().Get("name")) })
	mux.HandleFunc("DELETE /v1/ports/{id}", func(_ http.ResponseWriter, r *http.Request) { status = f.remove(r.PathValue("id")) })
	mux.ServeHTTP(httptest.NewRecorder(), r)
	return status, body
}

// create makes a port; one of the same name exists already: that is the answer, with a status of its own.
func (f *fabric) create(r *http.Request, name string, exists int) (int, any) {
	wanted := &port{}
	if json.NewDecoder(r.Body).Decode(wanted) != nil {
		return http.StatusBadRequest, nil
	}
	if name != "" {
		wanted.Name = name
	}
	if there := f.ports[wanted.Name]; there != nil && exists == http.StatusConflict {
		return exists, nil
	} else if there != nil {
		return exists, there
	}
	if len(wanted.IPs) == 0 {
		wanted.IPs = []string{f.free()}
	}
	for _, other := range f.ports {
		if slices.ContainsFunc(other.IPs, func(ip string) bool { return slices.Contains(wanted.IPs, ip) }) {
			return http.StatusUnprocessableEntity, map[string]any{"FabricError": map[string]any{"type": "AddressInUse", "message": "the address is\nin use by " + other.Name}}
		}
	}
	f.last++
	wanted.ID, wanted.MAC, wanted.Segment = fmt.Sprintf("port-%d", f.last), fmt.Sprintf("fa:16:3e:00:%02x:%02x", f.last>>8, f.last&255), f.last
	f.ports[wanted.Name] = wanted
	return http.StatusCreated, wanted
}

func (f *fabric) free() string {
	for n := 10; ; n++ {
		candidate := fmt.Sprintf("10.0.0.%d", n)
		taken := false
		for _, other := range f.ports {
			taken = taken || slices.Contains(other.IPs, candidate)
		}
		if !taken {
			return candidate
		}
	}
}

func (f *fabric) list(name string) (int, any) {
	found := []*port{}
	if there := f.ports[name]; there != nil {
		found = append(found, there)
	}
	return http.StatusOK, map[string]any{"ports": found}
}

func (f *fabric) remove(id string) int {
	for name, there := range f.ports {
		if there.ID == id {
			delete(f.ports, name)
			return http.StatusNoContent
		}
	}
	return http.StatusNotFound
}

// left is how many ports there are.
func (f *fabric) left() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.ports)
}
