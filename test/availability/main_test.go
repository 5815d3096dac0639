// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// land is the cluster; TestMain sets it.
var land *landscape.Landscape

const (
	program = "gardener-extension-provider-graft"
	binary  = "../../bin/" + program
	// namespace is that of the program.
	namespace = "extension-provider-graft"
	// patience bounds every wait.
	patience = 2 * time.Minute
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) error {
		err := env.CheckBuilt(binary)
		if err == nil {
			land, err = s.Start(ctx, landscape.Options{})
		}
		if err != nil {
			return err
		}
		return land.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}))
}

// eventually asks again and again until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come true: %s", what)
		}
	}
}
