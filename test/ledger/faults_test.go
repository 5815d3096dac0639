// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

func TestUnreachable(t *testing.T) {
	c := cluster.Start(t, 1)
	anonymous := c.TLS.Clone()
	anonymous.Certificates = nil
	for name, d := range map[string]struct {
		etcd.Options
		reason string // of a member that refuses late there are several
	}{
		"no server":         {etcd.Options{Endpoints: []string{"https://127.0.0.1:1", "https://127.0.0.1:2"}, TLS: c.TLS}, "connection refused"},
		"with a user":       {etcd.Options{Endpoints: []string{"https://127.0.0.1:1"}, TLS: c.TLS, Username: "u", Password: "secret"}, "connection refused"},
		"no certificate":    {etcd.Options{Endpoints: c.Endpoints, TLS: anonymous}, ""},
		"an unknown issuer": {etcd.Options{Endpoints: c.Endpoints}, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := d.Options
			o.DialTimeout = 10 * time.Second
			store, err := etcd.Open(t.Context(), o)
			if err == nil {
				_ = store.Close()
			}
			if !errors.Is(err, etcd.ErrUnreachable) {
				t.Fatalf("got error %v, want %v", err, etcd.ErrUnreachable)
			}
			for _, part := range append(o.Endpoints, d.reason) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %s: %v", part, err)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

// TestFull fills the space of etcd: no new allocation succeeds, and releases do.
func TestFull(t *testing.T) {
	store := open(t, cluster.Start(t, 1, "--quota-backend-bytes=4194304"), "/full")
	defer func() { _ = store.Close() }()
	value := bytes.Repeat([]byte("x"), 200_000)
	var err error
	held := 0
	for ; err == nil && held < 100; held++ {
		err = store.Commit(t.Context(), ledger.Change{Key: fmt.Sprint(held), Value: value})
	}
	if !errors.Is(err, etcd.ErrFull) {
		t.Fatalf("after %d rows: got error %v, want %v", held, err, etcd.ErrFull)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "0", Was: value}); err != nil {
		t.Errorf("a release: %v", err)
	}
	if got, err := store.Get(t.Context(), "0"); got != nil || err != nil {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "large", Value: bytes.Repeat([]byte("x"), 1_700_000)}); !errors.Is(err, ledger.ErrTooLarge) && !errors.Is(err, etcd.ErrFull) {
		t.Errorf("got error %v, want that it is too large", err)
	}
}

func TestTooLarge(t *testing.T) {
	store := open(t, cluster.Start(t, 1, "--max-txn-ops=4"), "/large")
	defer func() { _ = store.Close() }()
	if err := store.Commit(t.Context(), ledger.Change{Key: "a", Value: bytes.Repeat([]byte("x"), 1_700_000)}); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("got error %v, want %v", err, ledger.ErrTooLarge)
	}
	var changes []ledger.Change
	for i := range 4 {
		changes = append(changes, ledger.Change{Key: fmt.Sprint(i), Value: []byte("x")})
	}
	if err := store.Commit(t.Context(), changes...); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("got error %v, want %v", err, ledger.ErrTooLarge)
	}
}

// TestUsers runs servers as etcd users that may access only their prefix.
func TestUsers(t *testing.T) {
	c := cluster.Start(t, 1)
	admin, ctx := c.Client(), t.Context()
	try := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(admin.RoleAdd(ctx, "root"))
	try(admin.UserAdd(ctx, "root", "r"))
	try(admin.UserGrantRole(ctx, "root", "root"))
	try(admin.RoleAdd(ctx, "mine"))
	try(admin.RoleGrantPermission(ctx, "mine", "/mine/", clientv3.GetPrefixRangeEnd("/mine/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	for _, user := range []string{"server", "graft"} { // graft is the name in the certificate of clients
		try(admin.UserAdd(ctx, user, "secret"))
		try(admin.UserGrantRole(ctx, user, "mine"))
	}
	try(admin.AuthEnable(ctx))
	for name, d := range map[string]struct {
		user, password, prefix string
		refused                bool
	}{
		"a password":       {user: "server", password: "secret", prefix: "/mine"},
		"a certificate":    {prefix: "/mine"},
		"a wrong password": {user: "server", password: "sercet", prefix: "/mine", refused: true},
		"a wrong prefix":   {user: "server", password: "secret", prefix: "/yours", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := etcd.Open(t.Context(), etcd.Options{
				Endpoints: c.Endpoints, TLS: c.TLS, Prefix: d.prefix, Username: d.user, Password: d.password, DialTimeout: 20 * time.Second,
			})
			if errors.Is(err, etcd.ErrRefused) != d.refused || (err != nil) != d.refused {
				t.Fatalf("got error %v, want a refusal: %v", err, d.refused)
			}
			if err != nil {
				return
			}
			l := follow(t, store)
			if _, _, err := l.Reserve(t.Context(), ledger.Intent{
				Owner: network.Owner{Contract: "test", Key: name}, Pool: "pool", State: network.Bound, Now: time.Now(),
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCompacted cuts a server off while another one releases, and etcd forgets how: the first one reads all rows again.
func TestCompacted(t *testing.T) {
	c := cluster.Start(t, 1)
	wire := newWire(t, strings.TrimPrefix(c.Endpoints[0], "https://"))
	distant, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{"https://" + wire.address}, TLS: c.TLS, Prefix: "/compacted"})
	if err != nil {
		t.Fatal(err)
	}
	one, two := follow(t, open(t, c, "/compacted")), follow(t, distant)
	eventually := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("in vain it was waited that %s", what)
			}
		}
	}
	reserve := func(l *ledger.Ledger, key string) {
		t.Helper()
		if _, _, err := l.Reserve(t.Context(), ledger.Intent{Owner: network.Owner{Contract: "test", Key: key}, Pool: "pool", State: network.Bound, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		reserve(one, fmt.Sprint(i))
	}
	eventually("the second server knows of all", func() bool { return two.Taken("pool") == 10 })
	wire.cut()
	for i := range 10 {
		if err := one.Forget(t.Context(), network.Owner{Contract: "test", Key: fmt.Sprint(i)}, time.Now(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	reserve(one, "kept")
	admin := c.Client()
	now, err := admin.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if got := two.Taken("pool"); got != 10 {
		t.Errorf("the second server knows %d, though it was cut off", got)
	}
	wire.mend()
	eventually("the second server knows what is left", func() bool { return two.Taken("pool") == 1 })
	reserve(one, "later")
	eventually("the second server is told again", func() bool { return two.Taken("pool") == 2 })
}

// wire carries connections to an address, and can be cut.
type wire struct {
	address string

	mutex       sync.Mutex
	broken      bool
	connections []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close(); w.cut() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !w.add(near, far) {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
		}
	}()
	return w
}

func (w *wire) add(connections ...net.Conn) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.broken {
		return false
	}
	w.connections = append(w.connections, connections...)
	return true
}

func (w *wire) cut() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken = true
	for _, connection := range w.connections {
		_ = connection.Close()
	}
	w.connections = nil
}

func (w *wire) mend() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken = false
}
