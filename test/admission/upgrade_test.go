// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// line is a proxy between a program and the kube-apiserver. It counts reads of Clusters, and can delay the events of
// their watches, as a network or an overloaded kube-apiserver does.
type line struct {
	proxy *httputil.ReverseProxy

	mutex sync.Mutex
	got   map[string]int // by name
	open  chan struct{}  // closed while nothing is held up
	held  string         // delayed events
}

const clustersPath = "/apis/extensions.gardener.cloud/v1alpha1/clusters"

// newLine makes a line that holds up nothing.
func newLine() *line {
	GinkgoHelper()
	config := rest.AnonymousClientConfig(land.Config())
	target, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	l := &line{proxy: httputil.NewSingleHostReverseProxy(target), got: map[string]int{}, open: make(chan struct{})}
	close(l.open)
	l.proxy.Transport, err = rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	l.proxy.FlushInterval = -1
	l.proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path == clustersPath && r.Request.URL.Query().Get("watch") != "" {
			r.Body = news{r.Body, r.Request.Context(), l}
		}
		return nil
	}
	return l
}

// kubeconfig returns the kubeconfig of an account for this connection.
func (l *line) kubeconfig(account *landscape.Account) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(account.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	server := serveTLS(l)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = *server.URL, server.CABundle
	}
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}

// ServeHTTP implements http.Handler.
func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if folder, name := path.Split(r.URL.Path); folder == clustersPath+"/" {
		l.mutex.Lock()
		l.got[name]++
		l.mutex.Unlock()
	}
	l.proxy.ServeHTTP(w, r)
}

// times is how often a Cluster was got while something is done.
func (l *line) times(cluster string, do func()) int {
	count := func() int {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.got[cluster]
	}
	before := count()
	do()
	return count() - before
}

// holdUp delays the events of watches of Clusters; the returned function releases them.
func (l *line) holdUp() (pass func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	open := make(chan struct{})
	l.open = open
	return sync.OnceFunc(func() { close(open) })
}

// holds reports whether news of a Cluster are held up.
func (l *line) holds(cluster string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !strings.Contains(l.held, cluster) {
		return errNotYet
	}
	return nil
}

// news are the events of a watch of Clusters.
type news struct {
	io.ReadCloser

	context context.Context //nolint:containedctx // that of the request whose body it is
	line    *line
}

// Read implements io.Reader.
func (n news) Read(into []byte) (int, error) {
	read, err := n.ReadCloser.Read(into)
	select {
	case <-n.line.arrived(into[:read]):
		return read, err
	case <-n.context.Done():
		return 0, n.context.Err()
	}
}

// arrived returns a channel that is closed when the event may pass.
func (l *line) arrived(told []byte) <-chan struct{} {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	select {
	case <-l.open:
	default:
		l.held += string(told)
	}
	return l.open
}

// upgraded is an object with an image that determines the Kubernetes version, and its feature gates after it is stored.
type upgraded struct {
	object func(namespace, version string) *unstructured.Unstructured
	gates  func(ctx context.Context, stored *unstructured.Unstructured) string
}

var upgrades = map[string]upgraded{
	"a control plane": {
		object: func(namespace, version string) *unstructured.Unstructured {
			object := deployment(namespace, "kube-apiserver")
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			containers[0].(map[string]any)["image"] = "registry.k8s.io/kube-apiserver:v" + version
			_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
			return object
		},
		gates: func(ctx context.Context, stored *unstructured.Unstructured) string {
			return strings.Join(commandOf(stored), " ")
		},
	},
	"nodes": {
		object: func(namespace, version string) *unstructured.Unstructured {
			object := nodeInput{Name: "upgrade"}.object(namespace, "any-name")
			object.SetLabels(map[string]string{"worker.gardener.cloud/pool": "worker"})
			files, _, _ := unstructured.NestedSlice(object.Object, "spec", "files")
			files = append(files, map[string]any{"path": "/opt/bin/kubelet",
				"content": map[string]any{"imageRef": map[string]any{
					"image": "registry.example.com/hyperkube:v" + version, "filePathInImage": "/kubelet",
				}}})
			_ = unstructured.SetNestedSlice(object.Object, files, "spec", "files")
			return object
		},
		gates: func(ctx context.Context, stored *unstructured.Unstructured) string {
			return contentOf(stored, "files", "path", "/var/lib/kubelet/config/kubelet")
		},
	},
}

// write stores the object as gardenlet writes it for a version of Kubernetes, and says which of the profile's gates it
// has then.
func (u upgraded) write(ctx context.Context, namespace, version string, step int) string {
	GinkgoHelper()
	object := u.object(namespace, version)
	object.SetAnnotations(map[string]string{"step": fmt.Sprint(step)})
	var err error
	if step == 0 {
		err = land.Client().Create(ctx, object)
	} else {
		object.SetResourceVersion(stored(ctx, object).GetResourceVersion())
		err = land.Client().Update(ctx, object)
	}
	Expect(err).NotTo(HaveOccurred())
	text := u.gates(ctx, object)
	before, after := strings.Contains(text, "OnlyBefore"), strings.Contains(text, "OnlyAfter")
	Expect(before).NotTo(Equal(after), "whether %s has each of the gates: %s", nameOf(object), text)
	if before {
		return "OnlyBefore"
	}
	return "OnlyAfter"
}

// The program has not heard of the new Cluster yet. It reads the Cluster again for an object whose image is newer, and
// for no other object.
var _ = Describe("an upgrade of Kubernetes", Ordered, func() {
	const before, after = "1.33.6", "1.34.2"
	var line *line

	BeforeAll(func(ctx SpecContext) {
		line = newLine()
		start(ctx, programOptions{
			Reach: func(account *landscape.Account) string { return line.kubeconfig(account) },
			Profiles: map[string]string{"acme": head("acme", "acme") + `controlplane:
  kube-apiserver:
  - {featureGates: {OnlyBefore: true}, when: '${ shoot.kubernetes.satisfies("< 1.34") }'}
  - {featureGates: {OnlyAfter: true}, when: '${ shoot.kubernetes.satisfies(">= 1.34") }'}
  kubelet:
  - {featureGates: {OnlyBefore: true}, when: '${ pool.kubernetes.satisfies("< 1.34") }'}
  - {featureGates: {OnlyAfter: true}, when: '${ pool.kubernetes.satisfies(">= 1.34") }'}
`},
		})
	})

	for _, name := range slices.Sorted(maps.Keys(upgrades)) {
		It("chooses no feature gate by a Cluster that is older than the object: "+name, func(ctx SpecContext) {
			test := upgrades[name]
			shoot := "upgrade-" + strings.Fields(name)[0]
			namespace, step := newShoot(ctx, shoot, "acme", version(before)), 0
			// known writes until the program has received the stored version and need not read the Cluster.
			known := func(version, gate string) {
				GinkgoHelper()
				Eventually(func() error {
					defer func() { step++ }()
					got := line.times(namespace, func() {
						Expect(test.write(ctx, namespace, version, step)).To(Equal(gate), "the feature gate of the object")
					})
					if got > 0 {
						return errors.New("it got the Cluster")
					}
					return nil
				}).Should(Succeed(), "the program knows the Cluster")
			}
			known(before, "OnlyBefore")

			pass := line.holdUp()
			defer pass()
			newShoot(ctx, shoot, "acme", version(after))
			Eventually(func() error { return line.holds(namespace) }).
				Should(Succeed(), "waiting for news of the Cluster to be held up")
			known(before, "OnlyBefore") // known to the program
			for range 2 {
				step++
				var gate string
				got := line.times(namespace, func() { gate = test.write(ctx, namespace, after, step) })
				Expect(gate).To(Equal("OnlyAfter"), "the feature gate of an object of the new version")
				Expect(got).To(BeNumerically(">", 0), "reads of the Cluster")
			}
			step++
			pass()
			known(after, "OnlyAfter")
		})
	}
})
