// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const ofSystemd = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "systemd://%[2]s", contracts: [dranet]}]
metrics: {address: "0"}
logging: {level: info, format: text}
`

// passed returns a program that gets a socket with a name and a mode, as from systemd.
func passed(name string, mode os.FileMode) *program {
	GinkgoHelper()
	p := newProgram()
	p.Write("profile.yaml", fmt.Sprintf(strings.Replace(profile, "{subnets", "{exclusive: true, subnets", 1), 9))
	p.Write("config.yaml", fmt.Sprintf(ofSystemd, p.Folder, name))
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket(), Net: "unix"})
	Expect(err).NotTo(HaveOccurred(), "listening on the socket")
	DeferCleanup(socket.Close)
	Expect(os.Chmod(p.Socket(), mode)).To(Succeed())
	file, err := socket.File()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(file.Close)
	p.Sockets = map[string]*os.File{"graft-dranet": file}
	return p
}

var _ = Describe("a network provider with a socket of systemd", func() {
	DescribeTable("keeps the socket, on which callers wait for the next start, when it is", func(end func(*program)) {
		p := passed("graft-dranet", 0o600)
		p.Start()
		p.Ready()
		first, status := p.allocate("one")
		Expect(first).NotTo(BeEmpty(), "the address of the claim; status %d; the program printed:\n%s", status, p.Log)

		end(p)
		p.WaitExit()
		socket, err := os.Stat(p.Socket())
		Expect(err).NotTo(HaveOccurred(), "the socket without the program")
		Expect(socket.Mode().Type()).To(Equal(os.ModeSocket), "type of the file at the path of the socket")

		answer := make(chan string, 1)
		go func() {
			address, _ := p.allocate("one")
			answer <- address
		}()
		Consistently(answer).WithTimeout(300*time.Millisecond).ShouldNot(Receive(), "an answer while no program runs")
		p.Start()
		Eventually(answer).Should(Receive(Equal(first)), "the answer after the start")
	},
		Entry("killed", func(p *program) { p.Kill() }),
		Entry("stopped", func(p *program) { p.Stop() }),
	)

	DescribeTable("refuses to start with", func(socket string, mode os.FileMode, want string) {
		p := passed(socket, mode)
		p.Start()
		Expect(p.WaitExit()).To(Equal(1), "exit status; the program printed:\n%s", p.Log)
		Expect(p.Log.String()).To(ContainSubstring(want))
	},
		Entry("a socket that all users can open", "graft-dranet", os.FileMode(0o666), "write SocketMode=0600 in its unit"),
		Entry("a socket of another name", "graft-docker", os.FileMode(0o600),
			"systemd has passed no socket with the FileDescriptorName graft-docker: there is graft-dranet"),
	)

	It("logs the name of a socket that no listener uses", func() {
		p := passed("graft-dranet", 0o600)
		p.Sockets["spare"] = p.Sockets["graft-dranet"]
		p.Start()
		p.Ready()
		status, answer := p.Post("/GetProfileConfig", "one", wanted)
		Expect(status).To(Equal(http.StatusOK), "status of an allocation; the answer is %s", answer)
		Expect(p.Log.String()).To(ContainSubstring("spare"))
	})
})
