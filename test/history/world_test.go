// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// patience bounds the repetitions of a request, and the wait for background work.
const patience = 5 * time.Minute

// world is one program or several that share a ledger, with their cloud and their clients.
type world struct {
	seed    uint64
	servers []*server
	cloud   *fabric
	begin   time.Time

	mutex  sync.Mutex
	record []porcupine.Operation
	// holders maps addresses to their final owners according to the clients.
	holders map[string]string
}

// server is a program, and a client for the contract of Spiderpool.
type server struct {
	*env.NetworkProvider
	pods *http.Client
}

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
listeners: [{address: "unix://%[1]s/s"}]
administration: {address: "unix://%[1]s/admin"}
metrics: {address: "127.0.0.1:0"}
logging: {level: info, format: text}
`

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
  chosen: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.5]}], cloud: fabric, rest: 0s, exclusive: true}
  named:
    subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.3]}]
    vlans: 100-200
    macPrefix: "0a:58"
    rest: 0s
    cloud: fabric
    exclusive: true
profiles:
  chosen: {pools: [chosen]}
`

func newWorld(seed uint64) *world {
	GinkgoHelper()
	cloud := newFabric(rand.New(rand.NewPCG(seed, 100)))
	return &world{seed: seed, cloud: cloud, begin: time.Now(), holders: map[string]string{}}
}

// storeIn starts programs with a ledger. In its configuration, %[1]s is the folder of the program.
func (w *world) storeIn(ledger string, programs int) {
	GinkgoHelper()
	for i := range programs {
		p := env.NewNetworkProvider(GinkgoTB())
		suite.ShowLog(fmt.Sprint("program ", i), p.Log)
		p.Write("profile.yaml", fmt.Sprintf(profile, w.cloud.URL, timeout))
		if !strings.Contains(ledger, "%") {
			ledger += "%.0[1]s"
		}
		p.Write("config.yaml", fmt.Sprintf(configuration+ledger+"\n", p.Folder))
		w.servers = append(w.servers, &server{p, &http.Client{Timeout: patience, Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", p.Socket())
			},
		}}})
		p.Start()
		p.Ready()
	}
}

// end compares the ledger and the cloud with what clients hold, before and after they release it.
func (w *world) end(ctx context.Context) {
	GinkgoHelper()
	w.cloud.recover()
	w.settle(ctx)
	for address, owner := range w.holders {
		status, text := w.servers[0].Post("/ReleaseProfileConfig", owner, map[string]any{"profile": "chosen"})
		Expect(status).To(Equal(http.StatusOK), "status of the release for %s: %s", owner, text)
		delete(w.holders, address)
	}
	w.settle(ctx)
}

// settle waits until the ledger and the cloud have what clients hold, and nothing else.
func (w *world) settle(ctx context.Context) {
	GinkgoHelper()
	want := map[string]string{}
	for address, owner := range w.holders {
		want[address] = owner + " bound"
	}
	Eventually(ctx, func(g Gomega) {
		rows, err := w.rows(ctx)
		g.Expect(err).NotTo(HaveOccurred()) // etcd may elect a leader
		g.Expect(w.cloud.owners()).To(Equal(w.holders), "owners of addresses in the cloud")
		g.Expect(rows).To(Equal(want), "owners of addresses in the ledger")
	}).WithTimeout(patience).Should(Succeed(), "the cloud and the ledger have what clients hold")
}

// rows returns the owner and the state of each address in the ledger.
func (w *world) rows(ctx context.Context) (map[string]string, error) {
	server := "--server=unix://" + filepath.Join(w.servers[0].Folder, "admin")
	inspect := exec.CommandContext(ctx, "../../bin/graft", "ledger", "inspect", server, "-o", "json")
	output, err := inspect.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("graft ledger inspect: %w: %s", err, failed.Stderr)
	}
	var all []network.Allocation
	if err := errors.Join(err, json.Unmarshal(output, &all)); err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, a := range all {
		for _, address := range a.Addresses {
			rows[address.String()] = client(a.Owner.String()) + " " + string(a.State)
		}
	}
	return rows, nil
}

// client returns the client's name of an owner: the UID of a claim or Pod.
func client(owner string) string {
	if _, claim, ok := strings.Cut(owner, "dranet/"); ok {
		uid, _, _ := strings.Cut(claim, "/")
		return uid
	}
	_, uid, _ := strings.Cut(owner, "/uid/")
	uid, _, _ = strings.Cut(uid, "/")
	return uid
}
