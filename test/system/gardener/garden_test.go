// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/gardener/gardener/pkg/utils/secrets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// Where things are in the network of the tests. Pods have the addresses behind that of the seed's kube-apiserver.
const (
	host         = "10.1.0.1"
	podNetwork   = "10.1.0.0/16"
	serviceRange = "10.2.0.0/16"
	nodeNetwork  = "10.3.0.0/16"
	seedName     = "seed"
	provider     = "acme"
	tools        = "../../../.cache/tools/bin"
)

// groups are the API groups of gardener-apiserver, by their versions.
var groups = map[string][]string{
	"core.gardener.cloud": {"v1beta1", "v1"}, "seedmanagement.gardener.cloud": {"v1alpha1"},
	"settings.gardener.cloud":   {"v1alpha1"},
	"operations.gardener.cloud": {"v1alpha1"}, "security.gardener.cloud": {"v1alpha1"},
}

// garden is the cluster with the programs of Gardener.
type garden struct {
	*landscape.Landscape
	// client knows the kinds of the seed, gardener those of the garden.
	client, gardener client.Client
	folder           string

	mutex    sync.Mutex
	programs map[string]*program
}

// startGarden starts etcd and kube-apiserver, and gardener-apiserver behind it. All programs of Gardener end with the
// specs.
func startGarden(ctx context.Context, folder string) *garden {
	GinkgoHelper()
	g := &garden{folder: folder, programs: map[string]*program{}}
	var err error
	// The context of a node ends with it.
	g.Landscape, err = landscape.Start(context.WithoutCancel(ctx), landscape.Options{
		Without: landscape.AllCRDs(), Address: host, AuditLog: filepath.Join(folder, "audit.jsonl"),
		APIServerArgs: g.aggregation(),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(g.Stop)
	DeferCleanup(g.end)
	g.client = g.Client()
	g.gardener, err = client.New(g.Config(), client.Options{Scheme: kubernetes.GardenScheme})
	Expect(err).NotTo(HaveOccurred())
	g.startAPIServer(ctx)
	return g
}

// aggregation returns the flags of kube-apiserver for calls of gardener-apiserver and webhooks at the addresses of
// their Pods.
func (g *garden) aggregation() map[string][]string {
	ca, err := (&secrets.CertificateSecretConfig{Name: "front-proxy", CommonName: "front-proxy",
		CertType: secrets.CACert}).GenerateCertificate()
	Expect(err).NotTo(HaveOccurred())
	one, err := (&secrets.CertificateSecretConfig{
		Name: "front-proxy", CommonName: "front-proxy", CertType: secrets.ClientCert, SigningCA: ca,
	}).GenerateCertificate()
	Expect(err).NotTo(HaveOccurred())
	return map[string][]string{
		"enable-aggregator-routing":          {"true"},
		"service-cluster-ip-range":           {serviceRange},
		"requestheader-extra-headers-prefix": {"X-Remote-Extra-"},
		"requestheader-group-headers":        {"X-Remote-Group"},
		"requestheader-username-headers":     {"X-Remote-User"},
		"requestheader-client-ca-file":       {g.file("front-proxy-ca.crt", ca.CertificatePEM)},
		"proxy-client-cert-file":             {g.file("front-proxy.crt", one.CertificatePEM)},
		"proxy-client-key-file":              {g.file("front-proxy.key", one.PrivateKeyPEM)},
	}
}

// file writes a file and returns its path.
func (g *garden) file(name string, content []byte) string {
	GinkgoHelper()
	path := filepath.Join(g.folder, name)
	Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
	Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	return path
}

// program is a program of Gardener, which is started again when it ends.
type program struct {
	name      string
	arguments []string
	log       *env.Log
	process   *env.Process
}

// run starts a program of Gardener.
func (g *garden) run(name string, arguments ...string) {
	GinkgoHelper()
	p := &program{name: name, arguments: arguments, log: &env.Log{Limit: 32 << 20}}
	Expect(p.start()).To(Succeed())
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.programs[name] = p
}

func (p *program) start() (err error) {
	p.process, err = env.Start(p.log, nil, filepath.Join(tools, p.name), p.arguments...)
	return err
}

// work starts programs again that have ended, as a kubelet does: gardenlet gives up when the namespace of its seed
// comes late.
func (g *garden) work(context.Context) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for name, p := range g.programs {
		g.keep(name, p.log.String())
		if p.process.HasExited() {
			if err := p.start(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end kills the programs of Gardener, because gardener-apiserver would wait a minute for requests in flight, and keeps
// their output.
func (g *garden) end() {
	for name, p := range g.programs {
		p.process.Kill()
		g.keep(name, p.log.String())
	}
}

// tail returns the last lines of a program of Gardener.
func (g *garden) tail(name string) string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.programs[name].log.Tail(30)
}

// keep writes the output of a program to the folder GRAFT_TEST_LOGS.
func (g *garden) keep(name, text string) {
	if folder := os.Getenv("GRAFT_TEST_LOGS"); folder != "" {
		_ = os.WriteFile(filepath.Join(folder, name+".log"), []byte(text), 0o600)
	}
}

// startAPIServer starts gardener-apiserver and registers its groups with kube-apiserver.
func (g *garden) startAPIServer(ctx context.Context) {
	GinkgoHelper()
	const service = "gardener-apiserver"
	cert, ca, certFolder, err := secrets.SelfGenerateTLSServerCertificate(service, []string{service + ".kube-system.svc"},
		[]net.IP{net.ParseIP(host)})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.RemoveAll(certFolder)).To(Succeed())
	port := freePort(ctx)
	g.run(service,
		"--bind-address="+host, "--secure-port="+strconv.Itoa(port), "--etcd-servers="+g.Etcd(), "--cluster-identity=garden",
		"--tls-cert-file="+g.file(service+".crt", cert.CertificatePEM),
		"--tls-private-key-file="+g.file(service+".key", cert.PrivateKeyPEM),
		"--authorization-always-allow-paths=/healthz", "--authentication-kubeconfig="+g.Kubeconfig(),
		"--authorization-kubeconfig="+g.Kubeconfig(), "--kubeconfig="+g.Kubeconfig(), "--log-level=info", "--log-format=text")
	g.create(ctx,
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: service, Namespace: metav1.NamespaceSystem},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		},
		endpoints(metav1.NamespaceSystem, service, []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To(int32(port))}},
			host)) // #nosec G115
	for group, versions := range groups {
		for _, version := range versions {
			registration := fmt.Sprintf(`{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
				"metadata": {"name": %q}, "spec": {
				"group": %q, "version": %q, "groupPriorityMinimum": 10000, "versionPriority": 20, "caBundle": %s,
				"service": {"name": %q, "namespace": "kube-system", "port": 443}}}`,
				version+"."+group, group, version, encoded(ca.CertificatePEM), service)
			g.apply(ctx, registration)
		}
	}
	for group, versions := range groups {
		for _, version := range versions {
			Eventually(func(give Gomega) {
				list := &metav1.PartialObjectMetadataList{}
				list.SetGroupVersionKind(firstKind(group, version))
				give.Expect(g.gardener.List(ctx, list)).To(Succeed())
			}, 2*time.Minute, time.Second).Should(Succeed(), "%s/%s; %s", group, version, g.tail(service))
		}
	}
}

// startControllerManager starts gardener-controller-manager.
func (g *garden) startControllerManager(ctx context.Context) {
	g.run("gardener-controller-manager", "--config="+g.config(ctx, "gardener-controller-manager", map[string]any{
		"apiVersion":             "controllermanager.config.gardener.cloud/v1alpha1",
		"kind":                   "ControllerManagerConfiguration",
		"gardenClientConnection": map[string]any{"kubeconfig": g.Kubeconfig(), "qps": 100, "burst": 130},
	}))
}

// startGardenlet starts gardenlet, which registers the seed.
func (g *garden) startGardenlet(ctx context.Context) {
	connection := map[string]any{"kubeconfig": g.Kubeconfig(), "qps": 100, "burst": 130}
	credentials := map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}
	g.run("gardenlet", "--config="+g.config(ctx, "gardenlet", map[string]any{
		"apiVersion":             "gardenlet.config.gardener.cloud/v1alpha1",
		"kind":                   "GardenletConfiguration",
		"gardenClientConnection": connection, "seedClientConnection": connection,
		"controllers": map[string]any{
			"shootStatus":                map[string]any{"concurrentSyncs": 5}, // it has no default
			"controllerInstallationCare": map[string]any{"syncPeriod": "5s"}, "seedCare": map[string]any{"syncPeriod": "5s"},
		},
		"logging": map[string]any{"enabled": false},
		"seedConfig": map[string]any{
			"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": map[string]any{"name": seedName},
			"spec": map[string]any{
				"provider": map[string]any{"type": provider, "region": "region-1", "zones": []string{"a"}},
				"dns": map[string]any{
					"provider": map[string]any{"type": provider, "credentialsRef": credentials},
					"internal": map[string]any{"type": provider, "credentialsRef": credentials, "domain": "internal.example.com"},
				},
				"ingress":  map[string]any{"domain": "ingress.example.com", "controller": map[string]any{"kind": "nginx"}},
				"networks": map[string]any{"nodes": nodeNetwork, "pods": podNetwork, "services": serviceRange},
				"settings": map[string]any{
					"scheduling": map[string]any{"visible": true}, "verticalPodAutoscaler": map[string]any{"enabled": true},
					"excessCapacityReservation": map[string]any{"enabled": false},
					"dependencyWatchdog": map[string]any{
						"weeder": map[string]any{"enabled": false}, "prober": map[string]any{"enabled": false},
					},
				},
			},
		},
	}))
}

// config writes the configuration of a component with the common settings, and returns its path.
func (g *garden) config(ctx context.Context, name string, content map[string]any) string {
	GinkgoHelper()
	content["leaderElection"] = map[string]any{"leaderElect": false}
	content["logLevel"], content["logFormat"] = "info", "text"
	content["server"] = map[string]any{
		"healthProbes": map[string]any{"bindAddress": "127.0.0.1", "port": freePort(ctx)},
		"metrics":      map[string]any{"bindAddress": "127.0.0.1", "port": freePort(ctx)},
	}
	raw, err := yaml.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	return g.file(name+".yaml", raw)
}

// create creates objects of the seed, or of the garden.
func (g *garden) create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(g.client.Create(ctx, object)).To(Succeed())
	}
}

// apply applies manifests as operators do.
func (g *garden) apply(ctx context.Context, manifests string) {
	GinkgoHelper()
	out, err := g.kubectl(ctx, manifests, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), out)
}

// kubectl runs kubectl with something on its standard input.
func (g *garden) kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, g.Kubectl(), append([]string{"--kubeconfig=" + g.Kubeconfig()}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	return string(out), err
}

// endpoints returns the EndpointSlice of a Service.
func endpoints(namespace, service string, ports []discoveryv1.EndpointPort,
	addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service + "-played", Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: ports,
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		})
	}
	return slice
}

// freePort returns a port on which nothing listens.
func freePort(ctx context.Context) int {
	GinkgoHelper()
	addresses, err := env.FreeAddresses(ctx, 1)
	Expect(err).NotTo(HaveOccurred())
	_, port, err := net.SplitHostPort(addresses[0])
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(port)
	Expect(err).NotTo(HaveOccurred())
	return number
}
