// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// patience bounds every wait. It is long, since a wait ends as soon as its condition holds.
const patience = 60 * time.Second

// programOptions say how a program is started.
type programOptions struct {
	// Profiles are the files in the folder of profiles; a name without text refers to an example.
	Profiles map[string]string
	// Config is added to the ControllerConfiguration, as YAML.
	Config string
	// Arguments are added to the command line, and Environment to that of the tests.
	Arguments   []string
	Environment []string
	// Reach creates the kubeconfig of the program for the API server; by default with its account.
	Reach func(*landscape.Account) string
	// Values are laid over the default values of the chart, which decide on the permissions.
	Values map[string]any
	// Without is a resource that is not cluster-wide permitted, though the chart permits it.
	Without string
	// Namespace is the namespace of the program; a new one by default.
	Namespace string
	// Before is called when the program's namespace is there, and the program not.
	Before func(namespace string)
	// Beside is a program that shares namespace and permissions with this one, as another replica.
	Beside *program
}

// program is a Graft that runs.
type program struct {
	ctx       context.Context // of the suite: specs share programs
	namespace string
	account   *landscape.Account
	values    map[string]any // of the chart
	profiles  string         // folder
	log       *logBuffer
	*env.Process
	env.Extension
}

// start runs a program and returns when the kube-apiserver calls it. It is stopped, and its registration removed, at
// the end of the test.
func start(ctx context.Context, options programOptions) *program {
	GinkgoHelper()
	p := launch(ctx, options)
	p.waitReady()
	if options.isOrdinary() {
		keepCertificates(ctx, p.namespace)
	}
	syncWebhooks(ctx)
	return p
}

var programs int

// launch runs a program and returns at once.
func launch(ctx context.Context, options programOptions) *program {
	GinkgoHelper()
	p := &program{ctx: context.Background(), values: options.Values, profiles: GinkgoT().TempDir(), log: &logBuffer{}}
	if options.Beside != nil {
		p.namespace, p.account = options.Beside.namespace, options.Beside.account
	} else {
		programs++
		p.namespace = cmp.Or(options.Namespace, fmt.Sprintf("extension-%d", programs))
		p.account = createAccount(ctx, p.namespace, options.Values, options.Without)
	}
	if options.isOrdinary() {
		reuseCertificates(ctx, p.namespace)
	}
	if options.Before != nil {
		options.Before(p.namespace)
	}
	for name, text := range options.Profiles {
		if text == "" {
			text = example(name)
			copyFiles(name, p.profiles)
		}
		p.writeProfile(name+".yaml", text)
	}
	var err error
	p.Extension, err = env.NewExtension(ctx)
	Expect(err).NotTo(HaveOccurred(), "finding free ports")
	arguments := append(p.arguments(p.writeConfig(options.Config)), options.Arguments...)
	if options.Reach != nil {
		arguments = append(arguments, "--kubeconfig="+options.Reach(p.account)) // the last one counts
	}
	p.Process, err = env.Start(&p.log.Log, options.Environment, binary, arguments...)
	Expect(err).NotTo(HaveOccurred(), "starting the program")
	DeferCleanup(func() {
		p.stop()
		unregister()
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("the log of the program ends with:\n%s", p.log.Tail(25))
		}
	})
	return p
}

func (p *program) arguments(config string) []string {
	return append(append(p.Arguments(config, p.account.Kubeconfig, p.profiles), p.ByURL(p.namespace)...),
		"--heartbeat-namespace="+p.namespace, // as in the chart
		"--kubernetes-versions=< 1.31")       // without known flags: the profiles of the tests write invented flags
}

func (p *program) writeConfig(more string) string {
	text := "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n" + more
	if !strings.Contains(more, "shutdown:") {
		// There is no Service that would have to forget the program.
		text += "\nshutdown: {delay: 0s, timeout: 20s}\n"
	}
	path := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

// writeProfile puts a file into the folder of profiles at once, as the kubelet does with a mounted ConfigMap.
func (p *program) writeProfile(name, text string) {
	GinkgoHelper()
	hidden := filepath.Join(p.profiles, "."+name)
	Expect(os.WriteFile(hidden, []byte(text), 0o600)).To(Succeed())
	Expect(os.Rename(hidden, filepath.Join(p.profiles, name))).To(Succeed())
}

// removeProfile takes a file out of the folder of profiles.
func (p *program) removeProfile(name string) {
	GinkgoHelper()
	Expect(os.Remove(filepath.Join(p.profiles, name))).To(Succeed())
}

// reload puts a file into the folder of profiles and returns when the program has it active and the kube-apiserver
// follows.
func (p *program) reload(name, text string) {
	GinkgoHelper()
	before := p.counter("graft_profile_reloads_total", labels{"result": "success"})
	p.writeProfile(name, text)
	Eventually(func() error {
		if got := p.counter("graft_profile_reloads_total", labels{"result": "success"}); got <= before {
			return fmt.Errorf("%v successful attempts, before there were %v", got, before)
		}
		return nil
	}).Should(Succeed(), "waiting for the profiles to be loaded")
	p.waitReady()
	syncWebhooks(p.ctx)
}

// waitReady waits until /readyz reports that admissions are answered. It fails the test if the program exits.
func (p *program) waitReady() {
	GinkgoHelper()
	Expect(p.Await(p.ctx, p.Ready)).To(Succeed())
}

// stop terminates the program as a kubelet does, and returns its exit status.
func (p *program) stop() int {
	GinkgoHelper()
	_ = p.Signal(syscall.SIGTERM)
	return p.wait()
}

// wait returns the exit status of a program that ends.
func (p *program) wait() int {
	GinkgoHelper()
	Expect(p.Wait()).To(Succeed())
	return p.State().ExitCode()
}

// unregister removes the registrations of ended programs, which would deny the writes of the next test.
func unregister() {
	for _, name := range []string{programName, programName + "-runtime"} {
		err := land.Client().DeleteAllOf(context.Background(), &admissionregistrationv1.MutatingWebhookConfiguration{},
			named(name))
		Expect(err).NotTo(HaveOccurred())
	}
}

// named selects the registrations of programs of a name.
func named(name string) client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/name": name}
}

// registration returns the registration of the program.
func registration(ctx context.Context) *admissionregistrationv1.MutatingWebhookConfiguration {
	GinkgoHelper()
	list := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	Expect(land.Client().List(ctx, list, named(programName))).To(Succeed())
	Expect(list.Items).To(HaveLen(1), "registrations")
	return &list.Items[0]
}

// registered are the names of the webhooks, without their common end.
func registered(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	for _, webhook := range registration(ctx).Webhooks {
		names = append(names, strings.TrimSuffix(webhook.Name, ".graft.extensions.gardener.cloud"))
	}
	slices.Sort(names)
	return names
}

// labels select series of a metric; series may have more.
type labels map[string]string

// counter is the sum over the series of a metric that have the labels.
func (p *program) counter(name string, selected labels) float64 {
	GinkgoHelper()
	body, err := env.Get(p.ctx, "http://"+p.Metrics+"/metrics")
	Expect(err).NotTo(HaveOccurred(), "reading the metrics")
	return sumOf(body, name, selected)
}

// sumOf adds up series in Prometheus' text format. Label values of Graft's metrics hold no commas or braces.
func sumOf(text, name string, selected labels) float64 {
	GinkgoHelper()
	var sum float64
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		series, value, _ := strings.Cut(strings.TrimPrefix(rest, "{"), "} ")
		if rest[0] == ' ' {
			series, value = "", strings.TrimSpace(rest)
		}
		if !matches(series, selected) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Expect(err).NotTo(HaveOccurred(), "the metric %q", line)
		sum += number
	}
	return sum
}

func matches(series string, selected labels) bool {
	found := labels{}
	for pair := range strings.SplitSeq(series, ",") {
		key, value, _ := strings.Cut(pair, "=")
		found[key] = strings.Trim(value, `"`)
	}
	for key, value := range maps.All(selected) {
		if found[key] != value {
			return false
		}
	}
	return true
}

// expectCount runs something and holds by how much a metric has grown then.
func (p *program) expectCount(want float64, name string, selected labels, do func()) {
	GinkgoHelper()
	before := p.counter(name, selected)
	do()
	Expect(p.counter(name, selected)-before).To(BeNumerically("==", want), "growth of %s%v", name, selected)
}

// get returns the status and the body of a page.
func get(url string) (int, string, error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// example is the text of an example profile.
func example(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "example", "profiles", name, "profile.yaml"))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// copyFiles copies the files of an example to its profile.
func copyFiles(name, folder string) {
	GinkgoHelper()
	beside := filepath.Join(root, "example", "profiles", name)
	Expect(os.CopyFS(filepath.Join(folder, "files"), os.DirFS(filepath.Join(beside, "files")))).To(Succeed())
	images, err := os.ReadFile(filepath.Join(beside, "images.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(folder, "images.yaml"), images, 0o600)).To(Succeed())
}

// logBuffer collects the output of a program while tests read it.
type logBuffer struct{ env.Log }

// waitFor returns when the log holds a text.
func (l *logBuffer) waitFor(text string) {
	GinkgoHelper()
	Eventually(func() error {
		if !strings.Contains(l.String(), text) {
			return errors.New("it is not there")
		}
		return nil
	}).Should(Succeed(), "%q in the log", text)
}
