// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

// patience limits waits for operations that take a second on an idle machine.
const patience = 2 * time.Minute

// bindAll binds all allocations concurrently, and retries failures, as the service does.
func bindAll(ctx SpecContext, c *openstack.Cloud, all []network.Allocation) {
	GinkgoHelper()
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			defer GinkgoRecover()
			Eventually(func() (err error) {
				all[i].Binding, err = c.Bind(ctx, all[i])
				if errors.Is(err, network.ErrRefused) {
					StopTrying("refused").Wrap(err).Now()
				}
				return err
			}).WithContext(ctx).WithTimeout(2 * patience).Should(Succeed())
		})
	}
	group.Wait()
}

func unbindAll(ctx SpecContext, c *openstack.Cloud, all []network.Allocation) {
	GinkgoHelper()
	var group sync.WaitGroup
	for _, a := range all {
		group.Go(func() {
			defer GinkgoRecover()
			Eventually(func() error { return c.Unbind(ctx, a) }).WithContext(ctx).WithTimeout(2 * patience).Should(Succeed())
		})
	}
	group.Wait()
}

var _ = Describe("several binds", func() {
	It("at the same time on one trunk use few calls", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition())
		fixture.proxy.reset()
		// The other binds begin while the first call waits, also on a slow machine.
		var first sync.Once
		fixture.proxy.disturb(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if callName(r) == "POST ports" {
				first.Do(func() { time.Sleep(2 * time.Second) })
			}
			forward.ServeHTTP(w, r)
		})
		all := allocations(mac, 40, 20)
		bindAll(ctx, c, all)
		distinct(all)
		Expect(vlans(ctx, trunk)).To(HaveLen(20))
		calls, _ := fixture.proxy.seen()
		Expect(count(calls, "POST ports")).To(BeNumerically("<=", 4), "calls for 20 ports")
		Expect(count(calls, "PUT add_subports")).To(BeNumerically("<=", 4), "calls to attach 20 ports")
		unbindAll(ctx, c, all)
	})

	It("of two servers on one trunk get different VLANs", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		one, two := open(definition()), open(definition())
		first, second := allocations(mac, 60, 10), allocations(mac, 70, 10)
		var group sync.WaitGroup
		group.Go(func() {
			defer GinkgoRecover()
			bindAll(ctx, one, first)
		})
		bindAll(ctx, two, second)
		group.Wait()
		distinct(append(first[:10:10], second...))
		Expect(vlans(ctx, trunk)).To(HaveLen(20))
		group.Go(func() {
			defer GinkgoRecover()
			unbindAll(ctx, two, first)
		})
		unbindAll(ctx, one, second)
		group.Wait()
	})

	It("fail one by one, not all for one", func(ctx SpecContext) {
		mac := fixture.mac
		foreign(ctx, "10.0.0.81")
		// With SQLite, Neutron keeps the addresses that it allocated before it refused a request, and refuses them in later
		// requests. It allocates none before the refusal if the refused port comes first.
		fixture.proxy.disturb(putFirst("10.0.0.81"))
		c := open(definition())
		all := allocations(mac, 80, 3)
		problems := make([]error, len(all))
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() { all[i].Binding, problems[i] = c.Bind(ctx, all[i]) })
		}
		group.Wait()
		Expect(problems[0]).NotTo(HaveOccurred())
		Expect(problems[1]).To(MatchError(network.ErrInUse))
		Expect(problems[2]).NotTo(HaveOccurred())
		unbindAll(ctx, c, all)
	})

	It("survive that Neutron is killed", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition())
		killed, once := make(chan struct{}), sync.Once{}
		fixture.proxy.disturb(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if callName(r) == "POST ports" {
				once.Do(func() { close(killed) })
			}
			forward.ServeHTTP(w, r)
		})
		all := allocations(mac, 90, 10)
		var group sync.WaitGroup
		group.Go(func() {
			defer GinkgoRecover()
			bindAll(ctx, c, all)
		})
		Eventually(killed).WithTimeout(patience).Should(BeClosed())
		fixture.server.Kill()
		fixture.startNeutron(ctx)
		group.Wait()
		distinct(all)
		Expect(graftPorts(ctx)).To(HaveLen(len(all)))
		Expect(vlans(ctx, trunk)).To(HaveLen(len(all)))
		unbindAll(ctx, c, all)
	})

	It("create ports one by one where Neutron cannot create several without security groups", func(ctx SpecContext) {
		restart := func(ctx SpecContext, ml2 string) {
			fixture.server.Kill()
			fixture.write("ml2.ini", ml2)
			fixture.startNeutron(ctx)
		}
		restart(ctx, strings.ReplaceAll(ml2Configuration, "enable_security_group = True", "enable_security_group = False"))
		DeferCleanup(restart, ml2Configuration)
		all := allocations(fixture.mac, 110, 3)
		bindAll(ctx, open(definition()), all)
		distinct(all)
		Expect(graftPorts(ctx)).To(HaveLen(len(all)))
		calls, _ := fixture.proxy.seen()
		Expect(count(calls, "POST ports")).To(BeNumerically(">", 1), "requests for ports, of which the first one fails")
		unbindAll(ctx, open(definition()), all)
	})

	DescribeTable("continue after a lost answer", func(ctx SpecContext, call string) {
		mac, trunk := fixture.mac, fixture.trunk
		c := open(definition())
		fixture.proxy.disturb(loseAnswers(call, 1))
		all := allocations(mac, 100, 3)
		bindAll(ctx, c, all)
		distinct(all)
		Expect(graftPorts(ctx)).To(HaveLen(len(all)))
		Expect(vlans(ctx, trunk)).To(HaveLen(len(all)))
		unbindAll(ctx, c, all)
	},
		Entry("to the creation of ports", "POST ports"),
		Entry("to their attachment", "PUT add_subports"),
		Entry("to their detachment", "PUT remove_subports"),
		Entry("to their deletion", "DELETE ports/id"),
	)
})

func count(all []string, wanted string) (n int) {
	for _, one := range all {
		if one == wanted {
			n++
		}
	}
	return n
}

var _ = Describe("an OpenStack that does not work", func() {
	It("is given the time that it asks for", func(ctx SpecContext) {
		mac := fixture.mac
		c, a := open(definition()), allocation(mac, 110)
		fixture.proxy.disturb(answer(http.StatusTooManyRequests, "Retry-After", "7"))
		_, err := c.Bind(ctx, a)
		var pause *cloud.RetryAfter
		Expect(errors.As(err, &pause)).To(BeTrue(), "%v", err)
		Expect(pause.After).To(Equal(7 * time.Second))
		fixture.proxy.reset()
		unbind(ctx, c, bind(ctx, c, a))
	})

	It("is paused after several failures, which the error explains", func(ctx SpecContext) {
		mac := fixture.mac
		c, a := open(definition()), allocation(mac, 111)
		fixture.proxy.disturb(answer(http.StatusInternalServerError))
		var pause *cloud.RetryAfter
		for attempt := range 5 {
			_, err := c.Bind(ctx, a)
			Expect(err).To(HaveOccurred())
			Expect(err).NotTo(MatchError(network.ErrRefused))
			Expect(errors.As(err, &pause)).To(Equal(attempt == 4), "%v", err)
		}
		Expect(pause).To(MatchError(ContainSubstring("OpenStack has failed 5 times in a row, at last finding Neutron")))
		fixture.proxy.reset()
		unbind(ctx, c, bind(ctx, c, a))
	})

	It("is not waited for longer than the timeout", func(ctx SpecContext) {
		mac := fixture.mac
		c, a := open(definition()), allocation(mac, 112)
		release := make(chan struct{})
		fixture.proxy.disturb(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			<-release
			forward.ServeHTTP(w, r)
		})
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := c.Bind(short, a)
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(err).NotTo(MatchError(network.ErrRefused))
		close(release)
		fixture.proxy.reset()
		unbind(ctx, c, bind(ctx, c, a))
	})

	It("has a quota, which delays binds until something is released", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition())
		all := allocations(mac, 120, 3)
		limit := func(ctx SpecContext, ports int) {
			GinkgoHelper()
			_, err := quotas.Update(ctx, fixture.admin, fixture.projectID, quotas.UpdateOpts{Port: &ports}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}
		limit(ctx, 3) // the NIC and two further ports
		DeferCleanup(limit, -1)
		problems := make([]error, len(all))
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() { all[i].Binding, problems[i] = c.Bind(ctx, all[i]) })
		}
		group.Wait()
		failed := -1
		for i, err := range problems {
			if err != nil {
				Expect(failed).To(Equal(-1), "%v", problems)
				failed = i
			}
		}
		Expect(failed).NotTo(Equal(-1))
		var pause *cloud.RetryAfter
		Expect(errors.As(problems[failed], &pause)).To(BeTrue(), "%v", problems[failed])
		Expect(pause).To(MatchError(ContainSubstring("OverQuota")))
		unbind(ctx, c, all[(failed+1)%3])
		all[failed] = bind(ctx, c, all[failed])
		unbindAll(ctx, c, all)
	})
})

// attaching binds all allocations on one NIC: those of package cloudtest name none.
type attaching struct {
	*openstack.Cloud
	mac string
}

func (c attaching) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	a.Trunk.MAC = c.mac
	return c.Cloud.Bind(ctx, a)
}

func (c attaching) Unbind(ctx context.Context, a network.Allocation) error {
	a.Trunk.MAC = c.mac
	return c.Cloud.Unbind(ctx, a)
}

var _ = Describe("the suite of all clouds", Label("slow"), func() {
	It("passes with addresses of the pool, on a trunk", func(ctx SpecContext) {
		mac := fixture.mac
		d := definition()
		Expect(suiteT.Run("addresses of the pool", func(t *testing.T) {
			cloudtest.Run(t, func(t *testing.T) cloud.Cloud {
				return attaching{open(d), mac}
			})
		})).To(BeTrue())
	})

	It("passes with addresses of Neutron", func() {
		d := definition(func(d *openstack.Definition) { d.SubnetIDs, d.Trunk = []string{fixture.subnet4}, nil })
		Expect(suiteT.Run("addresses of Neutron", func(t *testing.T) {
			cloudtest.RunChoosing(t, func(t *testing.T) cloud.Cloud {
				return open(d)
			})
		})).To(BeTrue())
	})
})
