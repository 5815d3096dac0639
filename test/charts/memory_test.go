// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("GOMEMLIMIT is four fifths of the memory limit of its container, or unset without a limit", func() {
	limited := func(o one) (count int) {
		GinkgoHelper()
		for _, object := range o.render("default") {
			if !isWorkload(object) {
				continue
			}
			for _, container := range template(object).Spec.Containers {
				want := ""
				if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok {
					count++
					want = strconv.FormatFloat(limit.AsApproximateFloat64()*0.8, 'f', 0, 64)
				}
				got := ""
				for _, variable := range container.Env {
					if variable.Name == "GOMEMLIMIT" {
						got = variable.Value
					}
				}
				Expect(got).To(Equal(want), "GOMEMLIMIT of the container %s", container.Name)
			}
		}
		return count
	}
	var charts []one
	for _, o := range all() {
		if o.chart != "graft-profiles" { // it has no workload
			charts = append(charts, o)
		}
	}

	for _, o := range charts {
		It("in "+o.String(), func() { limited(o) })
	}

	It("finds a limit on most containers", func() {
		count := 0
		for _, o := range charts {
			count += limited(o)
		}
		Expect(count).To(BeNumerically(">=", 8), "containers with a memory limit")
	})
})
