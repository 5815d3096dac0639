// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command network shows what graft-network-provider does: it runs the program on a socket with an example, sends DRANET's requests,
// kills the program, starts it again, and checks each answer. `make start-network` builds what it needs and runs it.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at show.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/demo"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const (
	nic   = `{"name":"pci-0000-27-00-2","pci_address":"0000:27:00.2","mac_address":"46:0a:1b:2c:3d:4e"}`
	other = `{"name":"pci-0000-28-00-0","pci_address":"0000:28:00.0","mac_address":"46:0a:1b:2c:3d:4f"}`
)

// shown is the program in a demonstration.
type shown struct {
	*demo.Demo
	program, profile, socket, ledger string
	process                          *env.Process
}

func main() {
	set := flag.NewFlagSet("network", flag.ContinueOnError)
	program := set.String("program", "bin/graft-network-provider", "the program that is shown")
	profile := set.String("profile", "example/network/acme.yaml", "the profile that is served")
	demo.Main(set, func(ctx context.Context, d *demo.Demo) error {
		s := &shown{Demo: d, program: *program, profile: *profile,
			socket: filepath.Join(d.Folder, "dranet.sock"), ledger: filepath.Join(d.Folder, "ledger")}
		return s.show(ctx)
	})
}

// show runs all steps.
func (s *shown) show(ctx context.Context) error {
	if err := s.start(ctx, "graft-network-provider, until it answers"); err != nil {
		return err
	}
	defer func() { _ = s.process.Stop() }()
	var first, address string
	mine := request(nic, "claim-1", "")
	profileConfig := func(title, body string, status int, wanted ...string) func() error {
		return s.post(ctx, title, "/GetProfileConfig", body, status, wanted...)
	}
	return inOrder(
		s.post(ctx, "What the profile can do", "/health", "", http.StatusOK, `"cloudProvider":true`, `"profileProvider":true`),
		s.post(ctx, "What is known of a network card", "/GetDeviceAttributes", nic, http.StatusOK, `"acme.com/rack"`, `"r1"`),
		func() (err error) {
			s.Title("A claim gets an address")
			if first, err = s.Post(ctx, s.socket, "/GetProfileConfig", mine, http.StatusOK); err == nil {
				address, err = addressIn(first)
			}
			return err
		},
		func() error {
			return profileConfig("The kubelet asks again, and gets the same answer", mine, http.StatusOK, first)()
		},
		func() error {
			s.process.Kill()
			return s.start(ctx, "killed (SIGKILL), and started again")
		},
		func() error { return profileConfig("It has forgotten nothing", mine, http.StatusOK, first)() },
		func() error {
			taken := request(other, "claim-2", `,"addresses":["`+address+`"]`)
			return profileConfig("Another claim wants the same address", taken, http.StatusConflict, "in use")()
		},
		profileConfig("The profile does not allow everything", request(other, "claim-2", `,"dhcp":true`), http.StatusBadRequest, "there is no DHCP"),
		func() error {
			_, err := s.inspect(ctx, "claim-1", strings.Split(address, "/")[0])
			return err
		},
		s.post(ctx, "The claim is released", "/ReleaseProfileConfig", mine, http.StatusOK),
		func() error {
			held, err := s.inspect(ctx)
			return errors.Join(err, demo.Lacks(held, "claim-1"))
		},
		func() error {
			return s.Stay(ctx, s.process, "Send it requests, or change "+s.profile+".\nThe ledger: "+demo.Graft+" ledger inspect "+s.ledger)
		},
	)
}

// inOrder runs steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// start runs the program and waits until it accepts connections.
func (s *shown) start(ctx context.Context, what string) error {
	return s.Phase(what, func() (err error) {
		s.process, err = env.Start(&env.Log{}, nil, s.program, "--profiles", s.profile, "--ledger", s.ledger,
			"--listen", "dranet=unix://"+s.socket, "--node", "worker-1", "--metrics-address", "0", "--log-format", "text")
		if err != nil {
			return err
		}
		return s.process.Await(ctx, func(ctx context.Context) error {
			connection, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
			if err != nil {
				return err
			}
			return connection.Close()
		})
	})
}

// post returns a step that sends a request; see demo.Post.
func (s *shown) post(ctx context.Context, title, path, body string, status int, wanted ...string) func() error {
	return func() error {
		s.Title("%s", title)
		_, err := s.Post(ctx, s.socket, path, body, status, wanted...)
		return err
	}
}

// inspect prints the ledger, which must contain the texts.
func (s *shown) inspect(ctx context.Context, wanted ...string) (string, error) {
	s.Title("What the ledger holds")
	return s.Command(ctx, []string{demo.Graft, "ledger", "inspect", s.ledger}, wanted...)
}

// request returns a body of DRANET.
func request(device, claim, config string) string {
	return `{"device":` + device + `,"claim_uid":"` + claim + `","config":{"profile":"acme.com/overlay","interface":{"name":"net1"` + config + `}}}`
}

// addressIn returns the first address of an answer.
func addressIn(answer string) (string, error) {
	var config struct {
		Interface struct{ Addresses []string }
	}
	if err := json.Unmarshal([]byte(answer), &config); err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	if len(config.Interface.Addresses) == 0 {
		return "", errors.New("the answer should have an address")
	}
	return config.Interface.Addresses[0], nil
}
