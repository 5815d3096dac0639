// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

// Package docker_test lets Debian's dockerd run containers on Graft's networks, and kills both in the middle. Each
// scenario has a machine of its own (package engine), which must have no link and no allocation at the end, as at the
// start.
package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const (
	root = "../../.."
	// leaksFor is longer than the time between a leak and its end in testdata/config.yaml.
	leaksFor = 22 * time.Second
	// patience limits every wait, as for a container that has just begun and is not reached yet.
	patience = time.Minute
)

func TestDocker(t *testing.T) { suite.Run(t, "docker", "docker", "network", "slow") }

// graft and provider are the paths of the programs.
var graft, provider string

var _ = BeforeSuite(func() {
	var err error
	graft, err = env.Program(root, "graft")
	Expect(err).NotTo(HaveOccurred())
	provider, err = env.Program(root, "graft-network-provider")
	Expect(err).NotTo(HaveOccurred())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
})

// world is one machine with both programs, and the expectations of a scenario.
type world struct {
	Gomega
	machine  *engine.Machine
	dockerd  *engine.Dockerd
	provider *engine.Process
	ctx      context.Context
	// links are those that the machine has when nothing runs on it.
	links []string
}

// newWorld returns a machine whose programs do not run yet.
func newWorld(g Gomega) *world {
	w := &world{Gomega: g, ctx: context.Background()}
	var err error
	w.machine, err = engine.Options{Unprivileged: os.Geteuid() != 0}.Boot(w.ctx)
	g.Expect(err).NotTo(HaveOccurred(), "booting a machine")
	w.dockerd = w.machine.Dockerd(false)
	w.provider = w.machine.Provider(provider, absolute("testdata/acme.yaml"), "--config="+absolute("testdata/config.yaml"))
	w.links = w.allLinks()
	return w
}

// logs returns the ends of the logs of both programs.
func (w *world) logs() (text string) {
	for _, process := range []*engine.Process{&w.dockerd.Process, w.provider} {
		text += fmt.Sprintf("\nthe log of %s ends with:\n%s", process.Name, process.Tail())
	}
	return text
}

// begin starts both programs and imports the image. Options are those of dockerd.
func (w *world) begin(options ...string) {
	w.start(w.provider)
	w.start(&w.dockerd.Process, options...)
	w.Expect(w.dockerd.Import(w.ctx)).To(Succeed(), "importing the image")
}

func absolute(path string) string {
	path, err := filepath.Abs(path)
	Expect(err).NotTo(HaveOccurred())
	return path
}

func (w *world) start(p *engine.Process, arguments ...string) {
	w.Expect(p.Start(w.ctx, arguments...)).To(Succeed(), "starting %s", p.Name)
}

func (w *world) kill(p *engine.Process) { w.Expect(p.Kill()).To(Succeed(), "killing %s", p.Name) }

// machineRuns runs a command on the machine that must succeed, and returns its output.
func (w *world) machineRuns(name string, arguments ...string) string {
	out, err := w.machine.Run(w.ctx, name, arguments...)
	w.Expect(err).NotTo(HaveOccurred(), "%s %s", name, strings.Join(arguments, " "))
	return out
}

// docker runs a docker command that must succeed.
func (w *world) docker(arguments ...string) string {
	out, err := w.dockerd.Do(w.ctx, arguments...)
	w.Expect(err).NotTo(HaveOccurred(), "docker %s", strings.Join(arguments, " "))
	return out
}

// refused runs a docker command that must fail with an error of all words.
func (w *world) refused(words []string, arguments ...string) {
	out, err := w.dockerd.Do(w.ctx, arguments...)
	w.Expect(err).To(HaveOccurred(), "docker %s, which printed %s", strings.Join(arguments, " "), out)
	for _, word := range words {
		w.Expect(err.Error()).To(ContainSubstring(word), "the error of docker %s", strings.Join(arguments, " "))
	}
}

// run runs a container that does nothing for long.
func (w *world) run(name, network string, options ...string) {
	arguments := append([]string{"run", "--detach", "--stop-timeout=0", "--name=" + name, "--network=" + network},
		options...)
	w.docker(append(arguments, engine.Image, "/bin/sleep", "1d")...)
}

// in runs a program in a container, and returns its output.
func (w *world) in(container string, arguments ...string) string {
	return w.docker(append([]string{"exec", container}, arguments...)...)
}

// reach waits until a container reaches an address with ping. Duplicate address detection of a new IPv6 address takes a
// moment; until then ping fails at once.
func (w *world) reach(container, address string) {
	w.Eventually(func() error {
		_, err := w.dockerd.Do(w.ctx, "exec", container, "/bin/ping", "-c1", "-W2", address)
		return err
	}).Should(Succeed(), "%s reaches %s", container, address)
}

// both expects that two containers reach each other, with both families as far as they have them.
func (w *world) both(one, two, network string) {
	first, second := w.attached(one, network), w.attached(two, network)
	for from, to := range map[string]attached{one: second, two: first} {
		w.Expect(to.IPAddress+to.GlobalIPv6Address).NotTo(BeEmpty(), "addresses of %s or %s in %s", one, two, network)
		for _, address := range []string{to.IPAddress, to.GlobalIPv6Address} {
			if address != "" {
				w.reach(from, address)
			}
		}
	}
}

// lost expects that a container does not reach an address.
func (w *world) lost(container, address string) {
	w.refused(nil, "exec", container, "/bin/ping", "-c1", "-W1", address)
}

// attached is docker's information about a container in a network.
type attached struct {
	IPAddress, GlobalIPv6Address, MacAddress, Gateway, IPv6Gateway string
	IPPrefixLen                                                    int
}

func (w *world) attached(container, network string) attached {
	var all map[string]attached
	w.decode(w.docker("inspect", "--format={{json .NetworkSettings.Networks}}", container), &all)
	return all[network]
}

func (w *world) decode(text string, into any) {
	w.Expect(json.Unmarshal([]byte(text), into)).To(Succeed(), "decoding %s", text)
}

// allLinks returns the names of the links on the machine.
func (w *world) allLinks() []string {
	var found []struct{ Ifname string }
	w.decode(w.machineRuns("ip", "-json", "link", "show"), &found)
	var names []string
	for _, link := range found {
		names = append(names, link.Ifname)
	}
	slices.Sort(names)
	return names
}

// kernelLink is a link as ip shows it.
type kernelLink struct {
	MTU     int
	Address string
}

// link returns a link of a container, as the kernel shows it.
func (w *world) link(container, name string) kernelLink {
	pid := w.docker("inspect", "--format={{.State.Pid}}", container)
	var found []kernelLink
	w.decode(w.machineRuns("nsenter", "--target", pid, "--net", "ip", "-json", "link", "show", name), &found)
	w.Expect(found).To(HaveLen(1), "links of %s with the name %s", container, name)
	return found[0]
}

// held is one allocation, as graft shows it.
type held struct {
	Owner     struct{ Contract, Key string }
	Pool      string
	Addresses []string
}

// ledger returns the allocations.
func (w *world) ledger(arguments ...string) (all []held) {
	command := exec.CommandContext(w.ctx, graft,
		append([]string{"ledger", "inspect", w.machine.Ledger(), "-o", "json"}, arguments...)...)
	out, err := command.Output()
	w.Expect(err).NotTo(HaveOccurred(), "inspecting the ledger")
	w.decode(string(out), &all)
	return all
}

// none removes all containers and networks, and expects that nothing is left.
func (w *world) none() {
	w.clear()
	w.bare()
}

// clear removes all containers and networks.
func (w *world) clear() {
	if ids := w.docker("ps", "--all", "--quiet"); ids != "" {
		w.docker(append([]string{"rm", "--force"}, strings.Fields(ids)...)...)
	}
	for _, id := range strings.Fields(w.docker("network", "ls", "--quiet", "--filter=type=custom")) {
		w.removeNetwork(id)
	}
}

// removeNetwork removes a network without containers. A dockerd before 28.1 that has started or removed several
// containers at once may have miscounted their endpoints, and then refuses to remove their network until it is
// restarted, when it counts again (moby/moby issue 42119).
func (w *world) removeNetwork(name string) {
	_, err := w.dockerd.Do(w.ctx, "network", "rm", name)
	if err == nil {
		return
	}
	w.Expect(err.Error()).To(ContainSubstring("has active endpoints"), "removing the network %s", name)
	w.Expect(w.docker("network", "inspect", "--format={{len .Containers}}", name)).To(Equal("0"), "containers of %s", name)
	w.Expect(w.dockerd.Stop()).To(Succeed(), "stopping dockerd")
	w.start(&w.dockerd.Process)
	log, err := os.ReadFile(w.dockerd.Log())
	w.Expect(err).NotTo(HaveOccurred(), "reading the log of dockerd")
	w.Expect(string(log)).To(ContainSubstring("Inconsistent endpoint_cnt"), "the log of a dockerd that has miscounted")
	w.docker("network", "rm", name)
}

// bare waits until the machine has only its own links, and the ledger no allocation.
func (w *world) bare() {
	w.Eventually(w.allLinks).Should(Equal(w.links), "links of the machine")
	w.Eventually(w.ledger).Should(BeEmpty(), "allocations in the ledger")
}
