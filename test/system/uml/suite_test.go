//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package uml_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

// modules are the kernel modules of all kinds of links.
var modules = []string{"8021q", "ipvlan", "macvlan", "veth", "bridge", "vxlan", "dummy"}

func TestMain(m *testing.M) {
	uml.Guest()
	os.Exit(m.Run())
}

func TestUserModeLinux(t *testing.T) { suite.Run(t, "user-mode-linux", "docker", "slow") }

var _ = Describe("a guest", func() {
	shell := func(ctx context.Context, script string) (string, error) {
		return run(ctx, uml.Job{Command: []string{"sh", "-c", script}, Files: map[string]string{"sh": "/bin/sh"},
			Modules: modules})
	}

	It("has kinds of links that this machine may lack", func(ctx context.Context) {
		out, err := shell(ctx, `ip link add d0 type dummy && ip link add link d0 name d0.42 type vlan id 42 &&
			ip link add link d0.42 name i0 type ipvlan mode l3 &&
			ip link add b0 type bridge vlan_filtering 1 && ip -o -d link show i0`)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("ipvlan  mode l3"))
	}, SpecTimeout(5*time.Minute))

	It("returns the exit status and the output of its program", func(ctx context.Context) {
		out, err := shell(ctx, "echo three >&2; exit 3")
		Expect(err).To(MatchError(&uml.Failed{Status: 3}), out)
		Expect(out).To(ContainSubstring("three"))
	}, SpecTimeout(5*time.Minute))

	It("cannot write files of this machine", func(ctx context.Context) {
		out, err := shell(ctx, "touch /etc/graft-uml")
		Expect(err).To(MatchError(&uml.Failed{Status: 1}), out)
		Expect(out).To(ContainSubstring("Read-only file system"))
	}, SpecTimeout(5*time.Minute))

	It("is stopped at the deadline", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := shell(ctx, "sleep 600")
		Expect(err).To(MatchError(context.DeadlineExceeded))
	}, SpecTimeout(5*time.Minute))

	It("names a missing kernel module", func(ctx context.Context) {
		_, err := run(ctx, uml.Job{Command: []string{"sh"}, Files: map[string]string{"sh": "/bin/sh"},
			Modules: []string{"nothing"}})
		Expect(err).To(MatchError(ContainSubstring("no kernel module nothing in ")))
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("a kernel with all kinds of links", func() {
	It("passes the tests of package link: ipvlan in its modes, VLANs as ports, and macvlan, ipvlan and bridges on VLANs",
		func(ctx context.Context) {
			out, err := run(ctx, uml.Job{
				Command: []string{"link.test", "-test.v", "-test.run", "^TestKernel", "-test.timeout", "9m"},
				Files:   map[string]string{"link.test": compile(ctx, "../../..", "./pkg/network/docker/link")},
				Modules: modules,
			})
			Expect(err).NotTo(HaveOccurred(), out)
			for _, test := range []string{"TestKernelIpvlan", "TestKernelVLAN", "TestKernelChildren", "TestKernelProbe"} {
				Expect(out).To(ContainSubstring("--- PASS: "+test+" "), "the test has run")
			}
		}, SpecTimeout(10*time.Minute))

	It("connects containers of Docker's controllers by ipvlan, by VLANs, and by macvlan, ipvlan and bridges on VLANs",
		func(ctx context.Context) {
			root, err := filepath.Abs("../../..")
			Expect(err).NotTo(HaveOccurred())
			const program = "test/libnetwork/libnetwork.test"
			files := map[string]string{program: compile(ctx, filepath.Join(root, "test", "libnetwork"), ".", "-tags", "system")}
			for _, name := range []string{"bin/graft", "bin/graft-network-provider", ".cache/bin/libnetwork/docker28",
				".cache/bin/libnetwork/moby2"} {
				files[name] = filepath.Join(root, name)
			}
			out, err := run(ctx, uml.Job{
				Command: []string{program, "-test.timeout", "9m", "-ginkgo.no-color", "-ginkgo.focus", "a kernel with all modules"},
				Files:   files, Modules: modules, Memory: 3072,
			})
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(bytes.Count([]byte(out), []byte("7 Passed | 0 Failed"))).To(Equal(2), "suites of both controllers:\n%s", out)
		}, SpecTimeout(10*time.Minute))
})

// run boots a guest and returns its output.
func run(ctx context.Context, job uml.Job) (string, error) {
	var out bytes.Buffer
	err := uml.Run(ctx, job, &out)
	return out.String(), err
}

// compile builds the tests of a package of a module, because the guest has no Go.
func compile(ctx context.Context, module, pkg string, flags ...string) string {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), "test")
	c := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c", "-o", program}, flags...), pkg)...)
	c.Dir = module
	out, err := c.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "compiling the tests of %s: %s", pkg, out)
	return program
}
