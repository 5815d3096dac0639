// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// step is one thing that is shown.
type step struct {
	// says what it is about, in a line.
	says string
	// do fails when something is not as it should be.
	do func(context.Context, *server, console.Caller, *console.Terminal) error
}

// known is what steps learn for those after them.
type known struct{ config, address string }

const (
	nic   = `{"name":"pci-0000-27-00-2","pci_address":"0000:27:00.2","mac_address":"46:0a:1b:2c:3d:4e"}`
	other = `{"name":"pci-0000-28-00-0","pci_address":"0000:28:00.0","mac_address":"46:0a:1b:2c:3d:4f"}`
)

// request is a body of DRANET.
func request(device, claim, config string) string {
	return `{"device":` + device + `,"claim_uid":"` + claim + `","config":{"profile":"acme.com/overlay","interface":{"name":"net1"` + config + `}}}`
}

// steps are all that is shown, in order.
func steps() []step {
	k := &known{}
	mine := request(nic, "claim-1", "")
	return []step{
		ask("What the profile can do", "/health", "", "200", has(`"cloudProvider":true`, `"profileProvider":true`)),
		ask("What is known of a network card", "/GetDeviceAttributes", nic, "200", has(`"acme.com/rack"`, `"r1"`)),
		inspect("What the ledger holds before", func(text string) error { return lacks(text, "claim-1") }),
		ask("A claim gets an address", "/GetProfileConfig", mine, "200", k.learn),
		ask("The kubelet asks again, and gets the same answer", "/GetProfileConfig", mine, "200", k.same),
		{"", func(ctx context.Context, s *server, _ console.Caller, t *console.Terminal) error {
			s.Kill()
			t.Line("")
			return s.start(ctx, t, "killed (SIGKILL), and started again")
		}},
		ask("It has forgotten nothing", "/GetProfileConfig", mine, "200", k.same),
		{"", func(ctx context.Context, s *server, c console.Caller, t *console.Terminal) error {
			taken := request(other, "claim-2", `,"addresses":["`+k.address+`"]`)
			return ask("Another claim wants the same address", "/GetProfileConfig", taken, "409", has("in use")).do(ctx, s, c, t)
		}},
		ask("What the author of the profile does not permit", "/GetProfileConfig", request(other, "claim-2", `,"dhcp":true`), "400", has("there is no DHCP")),
		inspect("What the ledger holds", func(text string) error { return has("claim-1", strings.Split(k.address, "/")[0])(text) }),
		ask("The claim is gone", "/ReleaseProfileConfig", mine, "200", func(string) error { return nil }),
		inspect("What the ledger holds after", func(text string) error { return lacks(text, "claim-1") }),
	}
}

// ask is a step that asks the program.
func ask(says, path, body, want string, check func(string) error) step {
	return step{says, func(ctx context.Context, _ *server, c console.Caller, t *console.Terminal) error {
		t.Line("\n%s\n  %s", t.Bold(says), t.Dim("$ "+c.Command(local+path, body)))
		status, answer, err := c.Ask(ctx, local+path, body)
		if err != nil {
			return err
		}
		if t.Line("  %s %s", status, answer); status != want {
			return fmt.Errorf("the status is %s, and should be %s", status, want)
		}
		return check(answer)
	}}
}

// inspect is a step that looks into the ledger.
func inspect(says string, check func(string) error) step {
	return step{says, func(ctx context.Context, s *server, _ console.Caller, t *console.Terminal) error {
		t.Line("\n%s\n  %s", t.Bold(says), t.Dim("$ "+s.Graft+" ledger inspect "+s.ledger()))
		text, err := exec.CommandContext(ctx, s.Graft, "ledger", "inspect", s.ledger()).Output()
		if err != nil {
			return fmt.Errorf("looking into the ledger: %w", err)
		}
		t.Line("  %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
		return check(string(text))
	}}
}

// has says that an answer has all texts.
func has(texts ...string) func(string) error {
	return func(answer string) error {
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				return fmt.Errorf("the answer should have %s", text)
			}
		}
		return nil
	}
}

func lacks(answer, text string) error {
	if strings.Contains(answer, text) {
		return fmt.Errorf("the answer should not have %s", text)
	}
	return nil
}

// learn reads the address out of the first answer.
func (k *known) learn(answer string) error {
	var config struct {
		Interface struct{ Addresses []string }
	}
	if err := json.Unmarshal([]byte(answer), &config); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(config.Interface.Addresses) == 0 {
		return fmt.Errorf("the answer should have an address")
	}
	k.config, k.address = answer, config.Interface.Addresses[0]
	return nil
}

// same says that an answer is the first one.
func (k *known) same(answer string) error {
	if answer != k.config {
		return fmt.Errorf("the answer should be the same as before")
	}
	return nil
}
