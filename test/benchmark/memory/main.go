// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command memory measures the memory and the start time that shoots cost the extension, compared with a manager that
// reads Clusters in the classical way: an informer that stores them unchanged, and the decoder of Gardener's library.
// Each program is a separate process and uses the same seed. The Clusters and namespaces of the seed are generated,
// because a real etcd could not store them; a real kube-apiserver answers all other requests. No result depends on time
// limits, and the command does not know how the extension reads. Start reading at main. seed.go has the seed,
// classical.go the classical manager, and measure.go the measurements.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	// Must precede all imports of Gardener's packages: one of them prints a line at the start of the program.
	_ "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/quiet"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// options are the flags.
type options struct {
	classical *classical
	shoots    []int
	size      int
	program   string
	testdata  string
}

func main() {
	o := options{classical: &classical{}}
	o.classical.addTo(flag.CommandLine)
	shoots := flag.String("shoots", "10,1000,10000", "how many shoots the seeds have, in turn")
	flag.IntVar(&o.size, "size", 300_000, "bytes of the CloudProfile in each Cluster")
	flag.StringVar(&o.program, "program", filepath.Join("bin", "gardener-extension-provider-graft"), "the extension")
	flag.StringVar(&o.testdata, "testdata", filepath.Join("test", "benchmark", "testdata"),
		"folder with the profiles and the object that is admitted")
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx, *shoots)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context, shoots string) error {
	if o.classical.kubeconfig != "" {
		return o.classical.run(ctx)
	}
	for text := range strings.SplitSeq(shoots, ",") {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return fmt.Errorf("reading -shoots: %q is no number of shoots", text)
		}
		o.shoots = append(o.shoots, count)
	}
	itself, err := os.Executable()
	if err != nil {
		return err
	}
	land, err := landscape.Start(ctx, landscape.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = land.Stop() }()
	rows, err := o.measure(ctx, land, itself)
	if err != nil {
		return err
	}
	return report(os.Stdout, rows)
}
