// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

import (
	"net/http"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// record is a request and its answer. The suite reads path and body only.
type record struct {
	Path   string `json:"path"`
	Body   any    `json:"body"`
	Status int    `json:"status"`
	Answer any    `json:"answer,omitempty"`
}

// records are the last requests, in the order of their answers. A nil one keeps none.
type records struct {
	most int

	mutex sync.Mutex
	kept  []record
}

func (r *records) add(one record) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.kept) == r.most {
		r.kept = append(r.kept[:0], r.kept[1:]...)
	}
	r.kept = append(r.kept, one)
}

func (r *records) show(w http.ResponseWriter, _ *http.Request) error {
	r.mutex.Lock()
	kept := append([]record{}, r.kept...)
	r.mutex.Unlock()
	wire.Write(w, http.StatusOK, map[string][]record{"records": kept})
	return nil
}

// reset forgets the requests. Allocations remain.
func (r *records) reset(w http.ResponseWriter, _ *http.Request) error {
	r.mutex.Lock()
	r.kept = nil
	r.mutex.Unlock()
	wire.Write(w, http.StatusOK, map[string]string{"status": "reset"})
	return nil
}
