// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// BeforeSuite sets the cluster and the path of the program.
var (
	land   *landscape.Landscape
	binary string
)

const (
	program = "gardener-extension-provider-graft"
	// namespace is the namespace of the program.
	namespace = "extension-provider-graft"
	// patience limits every wait.
	patience = 2 * time.Minute
)

func TestAvailability(t *testing.T) { suite.Run(t, "availability", "admission", "slow") }

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	var err error
	binary, err = env.Program("../..", program)
	Expect(err).NotTo(HaveOccurred())
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
	Expect(land.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
})
