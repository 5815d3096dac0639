// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// step is one thing that is shown.
type step struct {
	// says what it is about, in a line.
	says string
	// do fails when something is not as it should be.
	do func(context.Context, *stage) error
}

// create makes the network that is shown: links and addresses out of one profile, and so out of one pool.
const create = "docker network create -d graft -o profile=acme.com/overlay --ipam-driver graft --ipam-opt profile=acme.com/overlay blue"

// steps are all that is shown, in order.
func steps() []step {
	return []step{
		says("A network: what it is in the kernel, and where its addresses come from, says a profile", makeNetwork),
		says("Two containers", runTwo),
		says("What the provider has made in the kernel: a bridge, and a pair of interfaces for each container", links),
		says("They talk", talk),
		says("Who holds what: addresses of Docker's containers are in the ledger, as all others", inspect("one", "two")),
		says("A claim of DRANET gets one out of the same pool, and never one of theirs", claim),
		says("The provider is killed (SIGKILL) while they talk, and started again", kill),
		says("It has forgotten nothing: another container comes, and talks to the first", third),
		says("All go", remove),
		says("Nothing is left: no link, and nobody holds anything", bare),
	}
}

func says(text string, do func(context.Context, *stage) error) step {
	return step{text, func(ctx context.Context, s *stage) error {
		s.says(text)
		return do(ctx, s)
	}}
}

func makeNetwork(ctx context.Context, s *stage) error {
	if err := s.docker(ctx, strings.TrimPrefix(create, "docker ")); err != nil {
		return err
	}
	return s.docker(ctx, "network inspect --format '{{json .IPAM.Config}}' blue")
}

// start runs a container, and notes the address that it got.
func (s *stage) start(ctx context.Context, name string) error {
	began := time.Now()
	if err := s.docker(ctx, "run --detach --stop-timeout 0 --network blue --name "+name+" "+image+" /bin/sleep 1d"); err != nil {
		return err
	}
	text, err := s.dockerd.Do(ctx, "inspect", "--format={{json (index .NetworkSettings.Networks \"blue\")}}", name)
	if err != nil {
		return err
	}
	var network struct{ IPAddress, MacAddress string }
	if err := json.Unmarshal([]byte(text), &network); err != nil || network.IPAddress == "" {
		return fail("%s should have an address: %s", name, text)
	}
	s.addresses[name] = network.IPAddress
	s.terminal.Line("  %s runs after %d ms, and has %s, %s", name, time.Since(began).Milliseconds(), s.terminal.Bold(network.IPAddress), network.MacAddress)
	return nil
}

func runTwo(ctx context.Context, s *stage) error {
	if err := s.start(ctx, "one"); err != nil {
		return err
	}
	return s.start(ctx, "two")
}

func links(ctx context.Context, s *stage) error {
	out, err := s.kernel(ctx, "ip -brief link show")
	if err != nil {
		return err
	}
	if strings.Count(out, "\ngb") != 1 || strings.Count(out, "\ngh") != 2 {
		return fail("there should be a bridge and two host ends")
	}
	return s.docker(ctx, "exec one /bin/ip address show dev net0")
}

func talk(ctx context.Context, s *stage) error {
	if err := s.ping(ctx, "one", "two"); err != nil {
		return err
	}
	return s.ping(ctx, "two", "one")
}

func (s *stage) ping(ctx context.Context, from, to string) error {
	return s.docker(ctx, "exec "+from+" /bin/ping -c 2 -W 3 "+s.addresses[to])
}

// inspect shows the ledger, in which containers must hold their addresses.
func inspect(containers ...string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		out, err := s.ledger(ctx)
		for _, name := range containers {
			if err == nil && !strings.Contains(out, s.addresses[name]) {
				err = fail("the ledger should have %s of %s", s.addresses[name], name)
			}
		}
		return err
	}
}

func (s *stage) ledger(ctx context.Context) (string, error) {
	s.typed(s.Graft + " ledger inspect " + s.machine.Ledger())
	out, err := exec.CommandContext(ctx, s.Graft, "ledger", "inspect", s.machine.Ledger()).Output()
	if err != nil {
		return "", fail("looking into the ledger: %w", err)
	}
	s.shown(string(out))
	return string(out), nil
}

// claimBody is what DRANET sends.
const claimBody = `{"device":{"name":"eth1","pci_address":"0000:27:00.2"},"claim_uid":"claim-1","config":{"profile":"acme.com/overlay"}}`

func claim(ctx context.Context, s *stage) error {
	for _, call := range []string{"/GetProfileConfig", "/ReleaseProfileConfig"} {
		socket := filepath.Join(s.machine.Folder, engine.DRANET)
		s.typed("curl --unix-socket " + socket + " http://localhost" + call + " --json '" + claimBody + "'")
		status, answer, err := s.machine.Ask(ctx, socket, call, claimBody)
		if err != nil {
			return err
		}
		if s.shown(answer); status != http.StatusOK {
			return fail("the status is %d, and should be 200", status)
		}
		for name, address := range s.addresses {
			if strings.Contains(answer, `"`+address+"/") {
				return fail("the claim was given %s, which %s has", address, name)
			}
		}
	}
	return nil
}

// kill ends the provider as a loss of power does, in the middle of two seconds in which the containers talk.
func kill(ctx context.Context, s *stage) error {
	line := "exec one /bin/ping -i 0.1 -c 20 -W 3 -q " + s.addresses["two"]
	s.typed("docker " + line)
	type result struct {
		said string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		out, err := s.dockerd.Do(ctx, split(line)...)
		done <- result{out, err}
	}()
	time.Sleep(500 * time.Millisecond)
	if err := s.provider.Kill(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	err := s.terminal.Phase("killed half a second ago, and started again", func(func(string)) (string, error) { return "", s.provider.Start(ctx) })
	if err != nil {
		return err
	}
	pinged := <-done
	if pinged.err != nil {
		return pinged.err
	}
	if s.shown(pinged.said); !strings.Contains(pinged.said, " 0% packet loss") {
		return fail("no packet should be lost")
	}
	return nil
}

func third(ctx context.Context, s *stage) error {
	if err := s.start(ctx, "three"); err != nil {
		return err
	}
	return s.ping(ctx, "three", "one")
}

func remove(ctx context.Context, s *stage) error {
	if err := s.docker(ctx, "rm --force one two three"); err != nil {
		return err
	}
	return s.docker(ctx, "network rm blue")
}

func bare(ctx context.Context, s *stage) error {
	out, err := s.kernel(ctx, "ip -brief link show")
	if err != nil {
		return err
	}
	if strings.Contains(out, "\n") {
		return fail("there should be the loopback interface alone")
	}
	if out, err = s.ledger(ctx); err != nil {
		return err
	}
	for name, address := range s.addresses {
		if strings.Contains(out, address) {
			return fail("%s of %s should be free again", address, name)
		}
	}
	return nil
}
