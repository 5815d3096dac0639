// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("concurrent admissions", func() {
	It("carry nothing from one object into another", func(ctx SpecContext) {
		const workers, requests = 8, 60
		p := start(ctx, programOptions{Profiles: map[string]string{
			"echo":  setFlag("echo", "echo", "own", `'${ object.annotations["own"] }'`),
			"wrong": setFlag("wrong", "wrong", "own", `'${ object.annotations["no-such-key"] }'`),
		}})
		echo, wrong := newShoot(ctx, "concurrency", "echo"), newShoot(ctx, "concurrency-wrong", "wrong")
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				defer GinkgoRecover()
				for i := range requests {
					own := fmt.Sprintf("%d-%d-%s", worker, i, strings.Repeat(string(rune('a'+worker)), (i*37)%900))
					object := deployment(echo, "kube-controller-manager", "--before="+own)
					object.SetAnnotations(map[string]string{"own": own})
					if i%10 == 9 { // a failed admission returns objects in another way
						object.SetNamespace(wrong)
						expectDenied(land.Client().Create(ctx, object, client.DryRunAll), 500, "ExpressionFailed")
						continue
					}
					Expect(land.Client().Create(ctx, object, client.DryRunAll)).To(Succeed(), "creating an object")
					Expect(commandOf(object)).To(Equal([]string{"/kube-controller-manager", "--before=" + own, "--own=" + own}),
						"the command of the object")
				}
			})
		}
		group.Wait()
		Expect(p.counter("graft_admissions_total", labels{"provider": "echo", "result": "patched"})).
			To(BeNumerically("==", float64(workers*requests*9/10)), "patched objects")
	})
})
