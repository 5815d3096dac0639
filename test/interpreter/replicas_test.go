// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// settings lack the folder of profiles, the kubeconfig, and how Karmada reaches the replicas.
const settings = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ResourceInterpreterConfiguration
profiles: {paths: [%s]}
server: {address: "127.0.0.1:0"}
certificate: {secret: {name: interpreter}}
kubernetes: {kubeconfig: %s, namespace: graft-system}
registration: {name: graft, %s, syncPeriod: 1s}
metrics: {address: "127.0.0.1:0"}
shutdown: {delay: 1s, timeout: 10s}
logging: {format: text}
`

// configured writes the configuration of replicas that register the endpoint, and returns the file.
func configured(profiles, endpoint string) string {
	GinkgoHelper()
	config := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	text := fmt.Appendf(nil, settings, profiles, account.Kubeconfig, endpoint)
	Expect(os.WriteFile(config, text, 0o600)).To(Succeed())
	return config
}

// mounted is a folder of profiles as kubelet mounts a ConfigMap: a symbolic link is swapped.
type mounted struct {
	folder string
	count  int
}

// put replaces the profile.
func (m *mounted) put(text string) {
	GinkgoHelper()
	m.count++
	version := fmt.Sprint("..version", m.count)
	at := func(name string) string { return filepath.Join(m.folder, name) }
	Expect(os.Mkdir(at(version), 0o700)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(at(version), "acme.yaml"), []byte(text), 0o600)).To(Succeed())
	Expect(os.Symlink(version, at("..new"))).To(Succeed())
	Expect(os.Rename(at("..new"), at("..data"))).To(Succeed())
	if m.count == 1 {
		Expect(os.Symlink(filepath.Join("..data", "acme.yaml"), at("acme.yaml"))).To(Succeed())
	}
}

// kinds is a profile with numbers of replicas for kinds.
func kinds(count string, names ...string) string {
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\n" +
		"kind: InterpreterProfile\nmetadata: {name: acme}\nkinds:\n"
	for _, name := range names {
		text += "- {apiVersion: acme.com/v1, kind: " + name + ", replicas: [{count: " + count + "}]}\n"
	}
	return text
}

// replica is the real program in its own process.
type replica struct {
	*env.Process
	b       *balancer
	address string
}

// start runs a replica until the end of the spec, and tells the balancer whether it is ready.
func start(config string, b *balancer) *replica {
	GinkgoHelper()
	p, err := env.Start(&env.Log{}, nil, binary, "--config="+config)
	Expect(err).NotTo(HaveOccurred(), "starting a replica")
	r := &replica{Process: p, b: b}
	suite.ShowLog("a replica", p.Log)
	DeferCleanup(r.Kill)
	Eventually(func() string {
		r.address = r.at(listening)
		return r.address
	}).ShouldNot(BeEmpty(), "the address of the replica")
	go r.follow()
	return r
}

// listening and servingMetrics match lines of the log with an address.
var (
	listening      = regexp.MustCompile(`Listening[^\n]*?(127\.0\.0\.1:[1-9][0-9]*)`)
	servingMetrics = regexp.MustCompile(`Serving metrics[^\n]*?(127\.0\.0\.1:[1-9][0-9]*)`)
)

// at returns the address that the log has after a word.
func (r *replica) at(word *regexp.Regexp) string {
	found := word.FindStringSubmatch(r.Log.String())
	if found == nil {
		return ""
	}
	return found[1]
}

// watcher reads metrics and readiness. It does not wait for a replica that hangs.
var watcher = &http.Client{Timeout: 3 * time.Second}

// watch returns a page of the server for metrics.
func (r *replica) watch(path string) (status int, text string) {
	response, err := watcher.Get("http://" + r.at(servingMetrics) + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	all, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(all)
}

// follow tells the balancer whether the replica is ready, until it exits.
func (r *replica) follow() {
	for {
		select {
		case <-r.Exited():
			r.b.ready(r.address, false)
			return
		default:
		}
		status, _ := r.watch("/readyz")
		r.b.ready(r.address, status == http.StatusOK)
		time.Sleep(20 * time.Millisecond)
	}
}

// count returns the number of ready replicas.
func (b *balancer) count() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.targets)
}

// end stops a replica as kubelet does.
func (r *replica) end() {
	GinkgoHelper()
	Expect(r.Signal(syscall.SIGTERM)).To(Succeed(), "stopping the replica")
	<-r.Exited()
	Expect(r.State().ExitCode()).To(BeZero(), "exit status of the replica")
}

// names returns the registered webhooks as a text.
func names() string {
	object, err := registered()
	if err != nil {
		return ""
	}
	return fmt.Sprint(object.Object["webhooks"])
}

var _ = Describe("two replicas of the program", func() {
	It("fail no call while profiles change and replicas restart, and the second one registers when the leader is killed",
		func(ctx SpecContext) {
			profiles := &mounted{folder: GinkgoT().TempDir()}
			profiles.put(kinds("3", "Queue"))
			b := newBalancer()
			config := configured(profiles.folder, fmt.Sprintf(`url: "https://%s/interpret"`, b.Addr()))
			one, two := start(config, b), start(config, b)
			Eventually(b.count).Should(Equal(2), "ready replicas")
			k := newKarmada()
			k.more(10)
			changeProfiles(ctx, k, profiles, one, two)

			By("restarting both replicas in turn")
			two.end()
			k.more(10)
			two = start(config, b)
			Eventually(b.count).Should(Equal(2), "ready replicas")
			one.end()
			k.more(10)
			one = start(config, b)
			Eventually(b.count).Should(Equal(2), "ready replicas")
			k.more(10)
			k.stop()
			for _, r := range []*replica{one, two} {
				Expect(r.Log.String()).NotTo(ContainSubstring("Issued a certificate"), "the log of a replica that has restarted")
			}
			killLeader(ctx, k, one, two)
		})
})

// changeProfiles adds a kind, writes an invalid profile, and removes the kind again.
func changeProfiles(ctx context.Context, k *karmada, profiles *mounted, replicas ...*replica) {
	GinkgoHelper()
	By("adding a kind")
	Expect(names()).NotTo(ContainSubstring("Batch"), "registered kinds")
	profiles.put(kinds("4", "Queue", "Batch"))
	Eventually(names).Should(ContainSubstring("Batch"), "registered kinds")
	batch := interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Batch"}
	Eventually(ctx, func(g Gomega) {
		a, err := k.current.Load().dispatcher.Interpret(ctx, question(batch, 0))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.Replicas).To(HaveValue(BeEquivalentTo(4)))
	}).Should(Succeed(), "calling for the new kind")
	k.more(10)

	By("writing an invalid profile")
	before := names()
	profiles.put(kinds("5, no: 1", "Queue"))
	for _, r := range replicas {
		Eventually(func() string {
			_, text := r.watch("/metrics")
			return text
		}).Should(ContainSubstring("graft_interpreter_profile_reload_failed 1"), "metrics after an invalid profile")
	}
	k.more(10)
	Expect(names()).To(Equal(before), "registered webhooks after an invalid profile")

	By("removing the kind")
	profiles.put(kinds("5", "Queue"))
	Eventually(names).ShouldNot(ContainSubstring("Batch"), "registered kinds")
	a, err := k.current.Load().dispatcher.Interpret(ctx, question(queue, 19<<20))
	Expect(err).NotTo(HaveOccurred(), "calling with an object of 19 MiB")
	Expect(a.Replicas).To(HaveValue(BeNumerically(">=", 3)), "replicas of an object of 19 MiB")
}

// killLeader kills the replica that leads, and checks that the other one registers and answers.
func killLeader(ctx context.Context, k *karmada, one, two *replica) {
	GinkgoHelper()
	By("killing the replica that leads")
	const leads = `Leadership changed	{"leader": true}`
	Eventually(func() string { return one.Log.String() + two.Log.String() }).
		Should(ContainSubstring(leads), "logs of both")
	leader, other := one, two
	if strings.Contains(two.Log.String(), leads) {
		leader, other = two, one
	}
	leader.Kill()
	Expect(objects.Resource(shippedResource).Delete(ctx, "graft", metav1.DeleteOptions{})).To(Succeed())
	Eventually(names).Should(ContainSubstring("Queue"), "kinds that the other replica registers")
	Expect(other.Log.String()).To(ContainSubstring(leads), "the log of the replica that registers")
	Eventually(k.ask).Should(Succeed(), "calling the other replica")
	const request = `graft_interpreter_requests_total{code="200",dialect="ResourceInterpreterContext",`
	for _, metric := range []string{
		request + `kind="Queue.acme.com",operation="replicas"}`,
		`graft_interpreter_certificate_expiry_timestamp_seconds{certificate="authority"}`,
		"graft_interpreter_registration_current 1", "graft_interpreter_registration_failed 0",
		"go_goroutines", "process_open_fds",
	} {
		_, text := other.watch("/metrics")
		Expect(text).To(ContainSubstring(metric), "metrics of the other replica")
	}
	other.end()
}
