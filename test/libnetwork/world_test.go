// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// world is a machine: a server and a controller, with the objects of a test.
type world struct {
	*server
	*engine.Process
	t       *testing.T
	version string
	said    *log
	// before are the links that there were.
	before string
	// active are the sandboxes that survive the controller, and environment are additional variables.
	active, environment []string
}

// begin makes a machine in this namespace, with a document for the server and more lines of its configuration.
func begin(t *testing.T, version, document, more string) *world {
	t.Helper()
	return beginIn(t, version, "graft", "", document, more)
}

// beginIn creates a machine in a namespace, with a named driver.
func beginIn(t *testing.T, version, driver, space, document, more string) *world {
	t.Helper()
	w := &world{t: t, version: version, said: &log{}}
	w.before = w.links(space)
	w.server = serve(t, driver, space, document, more)
	t.Cleanup(func() {
		w.Process.Stop()
		if t.Failed() {
			t.Logf("the controller said\n%s", w.said)
			w.boot() // the next test is not to blame
		}
	})
	w.engage()
	return w
}

// engage starts the controller.
func (w *world) engage() {
	w.t.Helper()
	err := within(w.space, func() (err error) {
		w.Process, err = engine.Start(filepath.Join(engines, w.version),
			engine.Settings{Data: filepath.Join(w.folder, "data"), Run: filepath.Join(w.folder, "run"), Active: w.active, Environment: w.environment}, w.said)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// again kills the controller, and starts another one with its state.
func (w *world) again() {
	w.t.Helper()
	w.Process.Kill()
	w.engage()
}

// within calls a function in the namespace of a file; empty: in this one.
func within(space string, do func() error) error {
	if space == "" {
		return do()
	}
	return namespace.In(space, do)
}

// links are the names of the links in a namespace; empty: in this one.
func (w *world) links(space string) (names string) {
	w.t.Helper()
	if err := within(space, func() (err error) { names, err = namespace.Links(); return err }); err != nil {
		w.t.Fatal(err)
	}
	return names
}

// network makes one.
func (w *world) network(n engine.Network) (id string) {
	w.t.Helper()
	if n.Driver == "" {
		n.Driver = w.driver
	}
	id, err := w.NewNetwork(n)
	if err != nil {
		w.t.Fatalf("making the network %s: %v", n.Name, err)
	}
	return id
}

// endpoint makes one.
func (w *world) endpoint(e engine.Endpoint) engine.Interface {
	w.t.Helper()
	made, err := w.CreateEndpoint(e)
	if err != nil {
		w.t.Fatalf("making the endpoint %s of %s: %v", e.Name, e.Network, err)
	}
	return made
}

// attach makes an endpoint and a sandbox of its name, and joins them.
func (w *world) attach(e engine.Endpoint) (engine.Interface, *box) {
	w.t.Helper()
	made := w.endpoint(e)
	b := w.sandbox(e.Name, e.Published...)
	w.join(e.Network, e.Name, e.Name)
	return made, b
}

// sandbox makes one.
func (w *world) sandbox(name string, published ...uint16) *box {
	w.t.Helper()
	made, err := w.NewSandbox(engine.Box{Name: name, Published: published})
	if err != nil {
		w.t.Fatalf("making the sandbox %s: %v", name, err)
	}
	return &box{w.t, made.ID, made.Key}
}

// join brings an endpoint into a sandbox.
func (w *world) join(network, name, sandbox string) {
	w.t.Helper()
	if err := w.Join(engine.Attachment{Network: network, Endpoint: name, Sandbox: sandbox}); err != nil {
		w.t.Fatalf("joining %s of %s: %v", name, network, err)
	}
}

// detach undoes attach.
func (w *world) detach(network string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.try("leaving", w.Leave(engine.Attachment{Network: network, Endpoint: name, Sandbox: name}))
		w.try("deleting the endpoint", w.DeleteEndpoint(network, name))
		w.try("deleting the sandbox", w.DeleteSandbox(name))
	}
}

// try reports an error without ending the test.
func (w *world) try(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("%s: %v", what, err)
	}
}

// remove removes networks.
func (w *world) remove(networks ...string) {
	w.t.Helper()
	for _, name := range networks {
		w.try("deleting the network "+name, w.DeleteNetwork(name))
	}
}

// refused makes sure that something failed, and that the client shows all of these texts.
func (w *world) refused(what string, err error, texts ...string) {
	w.t.Helper()
	if err == nil {
		w.t.Errorf("%s: no error, want one", what)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			w.t.Errorf("%s: the client shows %q, want %q in it", what, err, text)
		}
	}
}

// clean makes sure that nothing is left: no link, and nothing in the ledger.
func (w *world) clean() {
	w.t.Helper()
	if after := w.links(w.space); after != w.before {
		w.t.Errorf("links before: %q, after: %q", w.before, after)
	}
	w.empty()
}

// empty checks that the ledger is empty.
func (w *world) empty() {
	w.t.Helper()
	if said := w.ledger("inspect"); said != "No allocations." {
		w.t.Errorf("want an empty ledger, got\n%s", said)
	}
}

// eventually waits until a condition is true.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("timed out after %s waiting until: %s", patience, what)
		}
	}
}

// of is the same machine for a part of a test.
func (w *world) of(t *testing.T) *world {
	part, server := *w, *w.server
	server.t, part.server, part.t = t, &server, t
	return &part
}

// boot removes everything that a reboot removes: links, sandboxes, and files below /run.
func (w *world) boot() {
	w.t.Helper()
	run := filepath.Join(w.folder, "run")
	spaces, err := filepath.Glob(filepath.Join(run, "netns", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, space := range spaces {
		w.try("removing a sandbox", namespace.Remove(space))
	}
	w.try("removing what is below /run", os.RemoveAll(run))
	for _, name := range strings.Fields(w.links("")) {
		if strings.Contains(" "+w.before+" ", " "+name+" ") {
			continue
		}
		if link, err := netlink.LinkByName(name); err == nil { // the other end of a pair goes with the first
			w.try("removing a link", netlink.LinkDel(link))
		}
	}
}
