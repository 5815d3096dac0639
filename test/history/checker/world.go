// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// patience bounds the repetitions of a request, and the wait for background work.
const patience = 5 * time.Minute

// Cloud is the cloud behind the programs.
type Cloud interface {
	// Recover ends all failures.
	Recover()
	// Owners returns the owner of each address, as in network.Owner.
	Owners(ctx context.Context) map[string]string
}

// World is one program or several that share a ledger, with their cloud and their clients.
type World struct {
	Servers []*Server
	seed    uint64
	cloud   Cloud
	profile string
	begin   time.Time

	mutex  sync.Mutex
	record []porcupine.Operation
	// holders maps addresses to their final owners according to the clients.
	holders map[string]string
}

// Server is a program, and a client for the contract of Spiderpool.
type Server struct {
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

// New returns a world without programs. Its profile has the pools chosen and named.
func New(seed uint64, cloud Cloud, profile string) *World {
	return &World{seed: seed, cloud: cloud, profile: profile, begin: time.Now(), holders: map[string]string{}}
}

// Start starts programs with a ledger. In its configuration, %[1]s is the folder of the program.
func (w *World) Start(ledger string, programs int) {
	ginkgo.GinkgoHelper()
	for i := range programs {
		p := env.NewNetworkProvider(ginkgo.GinkgoTB())
		suite.ShowLog(fmt.Sprint("program ", i), p.Log)
		p.Write("profile.yaml", w.profile)
		if !strings.Contains(ledger, "%") {
			ledger += "%.0[1]s"
		}
		p.Write("config.yaml", fmt.Sprintf(configuration+ledger+"\n", p.Folder))
		w.Servers = append(w.Servers, &Server{p, &http.Client{Timeout: patience, Transport: &http.Transport{
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
func (w *World) end(ctx context.Context) {
	ginkgo.GinkgoHelper()
	w.cloud.Recover()
	w.settle(ctx)
	for address, owner := range w.holders {
		status, text := w.Servers[0].Post("/ReleaseProfileConfig", owner, map[string]any{"profile": "chosen"})
		gomega.Expect(status).To(gomega.Equal(http.StatusOK), "status of the release for %s: %s", owner, text)
		delete(w.holders, address)
	}
	w.settle(ctx)
}

// settle waits until the ledger and the cloud have what clients hold, and nothing else.
func (w *World) settle(ctx context.Context) {
	ginkgo.GinkgoHelper()
	want := map[string]string{}
	for address, owner := range w.holders {
		want[address] = owner + " bound"
	}
	gomega.Eventually(ctx, func(g gomega.Gomega) {
		rows, err := w.rows(ctx)
		g.Expect(err).NotTo(gomega.HaveOccurred()) // etcd may elect a leader
		g.Expect(w.inCloud(ctx)).To(gomega.Equal(w.holders), "owners of addresses in the cloud")
		g.Expect(rows).To(gomega.Equal(want), "owners of addresses in the ledger")
	}).WithTimeout(patience).Should(gomega.Succeed(), "the cloud and the ledger have what clients hold")
}

// inCloud returns the client of each address in the cloud.
func (w *World) inCloud(ctx context.Context) map[string]string {
	all := map[string]string{}
	for address, owner := range w.cloud.Owners(ctx) {
		all[address] = client(owner)
	}
	return all
}

// rows returns the owner and the state of each address in the ledger.
func (w *World) rows(ctx context.Context) (map[string]string, error) {
	server := "--server=unix://" + filepath.Join(w.Servers[0].Folder, "admin")
	inspect := exec.CommandContext(ctx, filepath.Join(env.Root(), "bin", "graft"), "ledger", "inspect", server, "-o",
		"json")
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
