// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/onsi/ginkgo/v2"
)

// repeat makes a request of any of the programs until its outcome is known, and records it.
func (w *World) repeat(random *rand.Rand, r request, attempt func(*Server) (answer string, known bool)) string {
	called := time.Since(w.begin)
	var lost []time.Duration
	between := time.Duration(20*len(w.Servers)*len(w.Servers)) * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(between) {
		began := time.Since(w.begin)
		answer, known := attempt(w.Servers[random.IntN(len(w.Servers))])
		if !known && r.kind == take && answer != nothing {
			lost = append(lost, began)
		}
		if !known && time.Now().After(deadline) {
			ginkgo.Fail(fmt.Sprintf("%s of %s %s has no answer", r.kind, r.owner, r.address))
		}
		if !known {
			continue
		}
		if r.kind == take {
			called = began
		}
		w.add(r, answer, called, lost)
		return answer
	}
}

// add records a request that has ended now, and its lost attempts.
func (w *World) add(r request, answer string, called time.Duration, lost []time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	ended := time.Since(w.begin)
	for _, began := range append([]time.Duration{called}, lost...) {
		w.record = append(w.record, porcupine.Operation{
			ClientId: len(w.record), Input: r, Output: answer, Call: began.Nanoseconds(), Return: ended.Nanoseconds(),
		})
		r.lost = true
	}
}

// claims allocates, repeats and releases for two claims of DRANET.
func (w *World) claims(ctx context.Context, client int, random *rand.Rand) {
	config := map[string]any{"profile": "chosen", "interface": map[string]any{"name": "net1"}}
	has := map[string]string{}
	for ctx.Err() == nil {
		owner := fmt.Sprintf("claim-%d-%d", client, random.IntN(2))
		if has[owner] != nothing && random.IntN(2) == 0 {
			w.repeat(random, request{kind: release, pool: "chosen", owner: owner}, func(s *Server) (string, bool) {
				status, _ := s.Post("/ReleaseProfileConfig", owner, config)
				return nothing, status == http.StatusOK
			})
			delete(has, owner)
			continue
		}
		has[owner] = w.repeat(random, request{kind: allocate, pool: "chosen", owner: owner}, func(s *Server) (string, bool) {
			status, text := s.Post("/GetProfileConfig", owner, config)
			exhausted := status == http.StatusInternalServerError && strings.Contains(text, "has no free resources")
			return addressOf(text), status == http.StatusOK || exhausted
		})
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for owner, address := range has {
		if address != nothing {
			w.holders[address] = owner
		}
	}
}

// NIC is the MAC address of the network interface of all nodes.
const NIC = "fa:16:3e:00:00:01"

// takes lets a client of Spiderpool start Pods, each with an address that another Pod may have, and release or read
// them.
func (w *World) takes(ctx context.Context, client int, random *rand.Rand) {
	for number := 0; ctx.Err() == nil; number++ {
		uid, address := fmt.Sprintf("pod-%d-%d", client, number), fmt.Sprintf("10.2.0.%d", 1+random.IntN(3))
		wanted := request{kind: take, pool: "named", owner: uid, address: address}
		won := w.repeat(random, wanted, func(s *Server) (string, bool) {
			status, _ := s.pod(ctx, http.MethodPost, "ipam/allocate-ips", map[string]any{
				"podUID": uid, "podName": uid, "podNamespace": "shop", "nodeName": uid,
				"iaasIPsAllocationRequest": []any{map[string]string{
					"ipAddress": address, "subnet": "10.2.0.0/24", "parentNicMac": NIC,
				}},
			})
			if status == unsent || status == http.StatusConflict {
				return nothing, false
			}
			return address, status == http.StatusOK
		})
		for range random.IntN(3) {
			w.repeat(random, request{kind: read, pool: "named", address: won}, func(s *Server) (string, bool) {
				status, text := s.pod(ctx, http.MethodGet, "status/ips-cache/"+won, nil)
				var answer struct {
					Entry struct {
						Node string `json:"nodeName"`
					}
				}
				_ = json.Unmarshal([]byte(text), &answer)
				return answer.Entry.Node, status == http.StatusOK || status == http.StatusNotFound
			})
		}
		w.repeat(random, request{kind: release, pool: "named", owner: uid}, func(s *Server) (string, bool) {
			status, _ := s.pod(ctx, http.MethodPost, "ipam/release-ip", map[string]string{
				"podUID": uid, "nodeName": uid, "subnet": "10.2.0.0/24", "ipAddress": won,
			})
			return nothing, status == http.StatusNoContent
		})
	}
}

// unsent is the status of a call that did not reach the program.
const unsent = -1

// pod makes a call of Spiderpool's contract. It returns status 0 without an answer. The call continues when the context
// has ended.
func (s *Server) pod(ctx context.Context, method, path string, body any) (status int, answer string) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, ""
	}
	url := "http://localhost/v1/apis/network.iaas.io/" + path
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, url, bytes.NewReader(raw))
	if err != nil {
		return 0, ""
	}
	response, err := s.pods.Do(request)
	if dialing, ok := errors.AsType[*net.OpError](err); ok && dialing.Op == "dial" {
		return unsent, ""
	}
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	if raw, err = io.ReadAll(response.Body); err != nil {
		return 0, ""
	}
	return response.StatusCode, string(raw)
}

// addressOf returns the address in an answer of DRANET, without the length of its subnet.
func addressOf(answer string) string {
	var config struct {
		Interface struct{ Addresses []string }
	}
	if json.Unmarshal([]byte(answer), &config) != nil || len(config.Interface.Addresses) != 1 {
		return nothing
	}
	address, _, _ := strings.Cut(config.Interface.Addresses[0], "/")
	return address
}
