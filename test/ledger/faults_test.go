// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

var _ = Describe("an etcd that cannot be opened", func() {
	DescribeTable("is reported with its endpoints and the reason, without the password",
		func(ctx SpecContext, options func() etcd.Options, reason string) {
			o := options()
			o.DialTimeout = 10 * time.Second
			store, err := etcd.Open(ctx, o)
			if err == nil {
				_ = store.Close()
			}
			Expect(err).To(MatchError(etcd.ErrUnreachable), "opening the store")
			for _, part := range append(o.Endpoints, reason) {
				Expect(err).To(MatchError(ContainSubstring(part)))
			}
			Expect(err.Error()).NotTo(ContainSubstring("secret"), "the password")
		},
		Entry("when nothing listens", func() etcd.Options {
			return etcd.Options{Endpoints: []string{"https://127.0.0.1:1", "https://127.0.0.1:2"}, TLS: members.TLS}
		}, "connection refused"),
		Entry("when nothing listens, and there is a password", func() etcd.Options {
			return etcd.Options{Endpoints: []string{"https://127.0.0.1:1"}, TLS: members.TLS, Username: "u", Password: "secret"}
		}, "connection refused"),
		Entry("when the client has no certificate", func() etcd.Options {
			anonymous := members.TLS.Clone()
			anonymous.Certificates = nil
			return etcd.Options{Endpoints: members.Endpoints, TLS: anonymous}
		}, ""), // the reasons of a member that refuses late differ
		Entry("when the authority is unknown", func() etcd.Options {
			return etcd.Options{Endpoints: members.Endpoints}
		}, "unknown authority"),
	)
})

// The last spec fills the member.
var _ = Describe("the limits of etcd", Ordered, func() {
	var c *cluster.Cluster

	BeforeAll(func() { c = cluster.Start(GinkgoTB(), 1, "--quota-backend-bytes=4194304", "--max-txn-ops=4") })

	It("refuse a row and a transaction that are too large", func(ctx SpecContext) {
		store := open(GinkgoTB(), c, "/large")
		DeferCleanup(store.Close)
		large := ledger.Change{Key: "a", Value: bytes.Repeat([]byte("x"), 1_700_000)}
		Expect(store.Commit(ctx, large)).To(MatchError(ledger.ErrTooLarge), "a row of 1.7 MB")
		var changes []ledger.Change
		for i := range 4 {
			changes = append(changes, ledger.Change{Key: fmt.Sprint(i), Value: []byte("x")})
		}
		Expect(store.Commit(ctx, changes...)).To(MatchError(ledger.ErrTooLarge), "a transaction of four rows")
	})

	It("stop new allocations when its space is used up, and allow releases", func(ctx SpecContext) {
		store := open(GinkgoTB(), c, "/full")
		DeferCleanup(store.Close)
		value := bytes.Repeat([]byte("x"), 200_000)
		var err error
		for row := 0; err == nil && row < 100; row++ {
			err = store.Commit(ctx, ledger.Change{Key: fmt.Sprint(row), Value: value})
		}
		Expect(err).To(MatchError(etcd.ErrFull), "writing rows of 200 kB into 4 MiB")
		Expect(store.Commit(ctx, ledger.Change{Key: "0", Was: value})).To(Succeed(), "releasing a row")
		Expect(store.Get(ctx, "0")).To(BeNil(), "the released row")
		large := ledger.Change{Key: "large", Value: bytes.Repeat([]byte("x"), 1_700_000)}
		Expect(store.Commit(ctx, large)).To(Or(MatchError(ledger.ErrTooLarge), MatchError(etcd.ErrFull)), "a row of 1.7 MB")
	})
})

var _ = Describe("an etcd with users, who may only use a prefix", Ordered, func() {
	var c *cluster.Cluster

	BeforeAll(func(ctx SpecContext) {
		c = cluster.Start(GinkgoTB(), 1)
		admin := c.Client()
		try := func(_ any, err error) {
			GinkgoHelper()
			Expect(err).NotTo(HaveOccurred(), "preparing the users")
		}
		try(admin.RoleAdd(ctx, "root"))
		try(admin.UserAdd(ctx, "root", "r"))
		try(admin.UserGrantRole(ctx, "root", "root"))
		try(admin.RoleAdd(ctx, "mine"))
		all := clientv3.PermissionType(clientv3.PermReadWrite)
		try(admin.RoleGrantPermission(ctx, "mine", "/mine/", clientv3.GetPrefixRangeEnd("/mine/"), all))
		for _, user := range []string{"server", "graft"} { // graft is the name in the certificate of clients
			try(admin.UserAdd(ctx, user, "secret"))
			try(admin.UserGrantRole(ctx, user, "mine"))
		}
		try(admin.AuthEnable(ctx))
	})

	openAs := func(ctx SpecContext, user, password, prefix string) (*etcd.Store, error) {
		return etcd.Open(ctx, etcd.Options{
			Endpoints: c.Endpoints, TLS: c.TLS, Prefix: prefix, Username: user, Password: password,
			DialTimeout: 20 * time.Second,
		})
	}

	DescribeTable("stores allocations", func(ctx SpecContext, user, password string) {
		store, err := openAs(ctx, user, password, "/mine")
		Expect(err).NotTo(HaveOccurred(), "opening the store")
		l := follow(store)
		_, _, err = l.Reserve(ctx, ledger.Intent{
			Owner: network.Owner{Contract: "test", Key: "user-" + user}, Pool: "pool", State: network.Bound, Now: time.Now(),
		})
		Expect(err).NotTo(HaveOccurred(), "an allocation")
	},
		Entry("for a user with a password", "server", "secret"),
		Entry("for a user with a certificate", "", ""),
	)

	DescribeTable("refuses", func(ctx SpecContext, password, prefix string) {
		_, err := openAs(ctx, "server", password, prefix)
		Expect(err).To(MatchError(etcd.ErrRefused), "opening the store")
	},
		Entry("a wrong password", "sercet", "/mine"),
		Entry("another prefix", "secret", "/yours"),
	)
})

var _ = Describe("a server that was cut off while etcd compacted its history", func() {
	It("reads all rows again", func(ctx SpecContext) {
		wire := newWire(strings.TrimPrefix(members.Endpoints[0], "https://"))
		distant, err := etcd.Open(ctx, etcd.Options{
			Endpoints: []string{"https://" + wire.address}, TLS: members.TLS, Prefix: "/compacted",
		})
		Expect(err).NotTo(HaveOccurred(), "opening the store")
		one, two := follow(open(GinkgoTB(), members, "/compacted")), follow(distant)
		taken := func() uint64 { return two.Taken("pool") }
		reserve := func(key string) {
			GinkgoHelper()
			_, _, err := one.Reserve(ctx, ledger.Intent{
				Owner: network.Owner{Contract: "test", Key: key}, Pool: "pool", State: network.Bound, Now: time.Now(),
			})
			Expect(err).NotTo(HaveOccurred(), "allocating for %s", key)
		}
		for i := range 10 {
			reserve(fmt.Sprint(i))
		}
		Eventually(taken).Should(BeEquivalentTo(10), "addresses that the second server takes for taken")
		wire.cut()
		for i := range 10 {
			owner := network.Owner{Contract: "test", Key: fmt.Sprint(i)}
			Expect(one.Delete(ctx, owner, time.Now(), time.Time{})).To(Succeed(), "releasing %s", owner)
		}
		reserve("kept")
		admin := members.Client()
		now, err := admin.Get(ctx, "any")
		Expect(err).NotTo(HaveOccurred(), "reading the revision")
		_, err = admin.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
		Expect(err).NotTo(HaveOccurred(), "compacting the history")
		Expect(taken()).To(BeEquivalentTo(10), "addresses by the second server while it is cut off")
		wire.mend()
		Eventually(taken).Should(BeEquivalentTo(1), "addresses by the second server after it is connected again")
		reserve("later")
		Eventually(taken).Should(BeEquivalentTo(2), "addresses by the second server after another allocation")
	})
})

// wire is a proxy for connections to an address, which can be cut.
type wire struct {
	address string

	mutex       sync.Mutex
	broken      bool
	connections []net.Conn
}

func newWire(to string) *wire {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred(), "listening")
	w := &wire{address: listener.Addr().String()}
	DeferCleanup(func() {
		_ = listener.Close()
		w.cut()
	})
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
