// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

func (w *world) want(what, want, got string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fill makes holders that live and holders that do not, of each kind and known in each way.
func (w *world) fill() {
	onlyUID := func(h *network.Holder) { h.Namespace, h.Name = "", "" }
	onlyName := func(h *network.Holder) { h.UID = "" }
	w.create(w.claim("claim-lives"), nil)
	w.create(w.claim("claim-lives-by-uid"), onlyUID)
	w.create(w.pod("pod-lives"), nil)
	w.create(w.pod("pod-lives-by-name"), onlyName)
	w.remove(w.create(w.claim("claim-gone"), nil))
	w.remove(w.create(w.claim("claim-gone-by-uid"), onlyUID))
	w.remove(w.create(w.pod("pod-gone"), nil))
	w.remove(w.create(w.pod("pod-gone-by-name"), onlyName))
	// Its name came back for another Pod, as that of a StatefulSet does.
	w.remove(w.create(w.pod("pod-again"), nil))
	w.must(w.land.Client().Create(w.t.Context(), w.pod("pod-again")))
	w.hold("container", network.Holder{Kind: "Container", UID: "c"})
}

const (
	alive = "claim-lives claim-lives-by-uid container pod-lives pod-lives-by-name"
	whole = "claim-gone claim-gone-by-uid claim-lives claim-lives-by-uid container pod-again pod-gone pod-gone-by-name pod-lives pod-lives-by-name"
)

// TestOrphans checks that exactly the allocations of missing owners are freed in the second pass; a fresh one stays.
func TestOrphans(t *testing.T) {
	w := newWorld(t, land, "v1", true)
	w.fill()
	w.want("a pass before the grace period is over", "", w.pass(grace-time.Second))
	w.want("held after it", whole, w.held())
	w.want("the first pass", "", w.pass(time.Minute))
	w.want("held after it", whole, w.held())
	w.remove(w.create(w.claim("fresh"), nil))
	w.want("the second", "", w.pass(period))
	w.want("held after it", strings.Replace(alive, "container", "container fresh", 1), w.held())
	w.events("was freed", 5)
}

// events waits for events about leaks on the node, which is called as the namespace.
func (w *world) events(text string, count int) {
	w.t.Helper()
	var said []string
	for deadline := time.Now().Add(patience); len(said) < count && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var all corev1.EventList
		w.must(w.land.Client().List(w.t.Context(), &all, client.InNamespace("default")))
		said = nil
		for _, e := range all.Items {
			if e.InvolvedObject.Kind == "Node" && e.InvolvedObject.Name == w.namespace && e.Reason == "AddressLeaked" && strings.Contains(e.Message, text) {
				said = append(said, e.Message)
			}
		}
	}
	if len(said) != count {
		w.t.Errorf("got the events %q, want %d", said, count)
	}
}

// TestReport frees nothing unless it is asked to.
func TestReport(t *testing.T) {
	w := newWorld(t, land, "v1", false)
	w.fill()
	for range 3 {
		w.want("a pass", "", w.pass(grace))
		w.want("held after it", whole, w.held())
	}
}

// TestTheServerIsAway blocks the connection to kube-apiserver between the passes, and while an unknown Pod is created.
func TestTheServerIsAway(t *testing.T) {
	w := newWorld(t, land, "v1", true)
	w.fill()
	w.want("the first pass", "", w.pass(grace))
	w.way.close()
	pod := w.create(w.pod("unheard-of"), nil)
	if failed := w.pass(2 * grace); !strings.Contains(failed, "counting who lives of kind Pod: asking the cluster: ") {
		t.Errorf("got %q", failed)
	}
	w.want("held while it is away", whole+" "+pod.GetName(), w.held())
	w.way.open()
	w.want("the first pass when it is back", "", w.pass(period))
	w.want("held after it", whole+" "+pod.GetName(), w.held())
	w.want("the second", "", w.pass(period))
	w.want("held after it", alive+" "+pod.GetName(), w.held())
}

// TestOlderCluster serves claims in an older version of their API, and not at all.
func TestOlderCluster(t *testing.T) {
	for _, c := range []struct{ name, serves, version, held string }{
		{name: "v1beta1", serves: "resource.k8s.io/v1=false,resource.k8s.io/v1beta1=true", version: "v1beta1", held: "claim-lives container pod-lives"},
		{name: "none", serves: "resource.k8s.io/v1=false", held: "claim-gone claim-lives container pod-lives"},
	} {
		t.Run(c.name, func(t *testing.T) {
			older, err := landscape.Start(t.Context(), landscape.Options{
				Without: landscape.AllCRDs(), APIServerArgs: map[string][]string{"runtime-config": {c.serves}},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = older.Stop() })
			w := newWorld(t, older, c.version, true)
			w.create(w.pod("pod-lives"), nil)
			w.remove(w.create(w.pod("pod-gone"), nil))
			w.hold("container", network.Holder{Kind: "Container", UID: "c"})
			if c.version != "" {
				w.create(w.claim("claim-lives"), nil)
				w.remove(w.create(w.claim("claim-gone"), nil))
			} else {
				w.hold("claim-lives", network.Holder{Kind: "ResourceClaim", UID: "1"})
				w.hold("claim-gone", network.Holder{Kind: "ResourceClaim", UID: "2"})
			}
			w.want("the first pass", "", w.pass(grace))
			w.want("the second", "", w.pass(period))
			w.want("held after it", c.held, w.held())
		})
	}
}
