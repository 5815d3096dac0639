// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

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

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with defer.
func run(m *testing.M) int {
	logf.SetLogger(logr.Discard()) // of Gardener's components, which the landscape links
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(binary); err != nil {
		return failed(fmt.Errorf("%w; `make build` builds it", err))
	}
	var err error
	if land, err = landscape.Start(ctx, landscape.Options{}); err != nil {
		return failed(err)
	}
	defer func() { _ = land.Stop() }()
	if err := land.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return failed(err)
	}
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
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
