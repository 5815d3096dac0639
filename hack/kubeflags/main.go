// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command kubeflags writes pkg/controlplane/kubeflags/table.json: the flags and feature gates of
// kube-apiserver, kube-controller-manager, kube-scheduler and kubelet, the admission plugins of kube-apiserver,
// and the fields of the KubeletConfiguration, for each minor version of Kubernetes. It gets them from the
// components themselves: for each release it creates a module in .cache/kubeflags, compiles a small program
// with the components' options, and reads its output. Cluster-autoscaler is omitted, because it is not part of
// Kubernetes' module.
//
// `make kubeflags` runs it from the root of the module. Compiling a release takes minutes, so it is not part of
// `make generate`. The output of a release is cached until its number or the program changes. Start reading at
// main; release.go reads the releases, merge.go writes the table.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
)

// releases has one release for each minor version with published modules of Kubernetes. Patch
// releases usually change neither flags nor gates. To find newer ones, run `go list -m -versions
// k8s.io/kubernetes`.
var releases = []string{"v1.31.0", "v1.32.2", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.1"}

// components are the arguments of program.go.tmpl.
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
