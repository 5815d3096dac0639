// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command kubeflags writes pkg/controlplane/kubeflags/table.json: the flags and feature gates of kube-apiserver,
// kube-controller-manager, kube-scheduler and kubelet, the admission plugins of kube-apiserver, and the fields of the
// KubeletConfiguration, in each minor version of Kubernetes. It asks the components themselves: for each release it makes a module in
// .cache/kubeflags, compiles one small program with their options, and reads what that prints. Cluster-autoscaler, which is no part of Kubernetes' module, is left out.
//
// `make kubeflags` runs it from the root of the module. Compiling a release takes minutes, so it is no part of `make generate`;
// what a release printed is kept, and a release is compiled again only when its number or the program changes. Enter at main; release.go asks,
// merge.go writes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

// releases are one for each minor version, for which all of Kubernetes' own modules are to be had: a patch changes
// neither flags nor gates, as a rule. Newer ones: `go list -m -versions k8s.io/kubernetes`.
var releases = []string{"v1.31.0", "v1.32.2", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.1"}

// components are the arguments that program.go.tmpl knows.
var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}

func main() {
	cache := flag.String("cache", ".cache/kubeflags", "the folder in which releases are compiled")
	output := flag.String("output", "pkg/controlplane/kubeflags/table.json", "the file that is written")
	names := flag.String("releases", strings.Join(releases, ","), "the releases, oldest first, one for each minor version")
	flag.Parse()
	log.SetFlags(0)

	var dumps []dump
	for _, release := range strings.Split(*names, ",") {
		found, err := ask(*cache, release)
		if err != nil {
			log.Fatal(fmt.Errorf("reading the flags of Kubernetes %s: %w", release, err))
		}
		dumps = append(dumps, found)
	}
	merged, err := merge(dumps)
	if err != nil {
		log.Fatal(fmt.Errorf("merging the flags of all versions: %w", err))
	}
	if err := os.WriteFile(*output, merged.bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
