// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// longest is how much CPU a matrix may take, in seconds.
const longest = 5

// BenchmarkMatrix compares the nine example profiles, with and without their rules for kube-controller-manager, over
// all versions: the work of graft compare and graft-controlplane.
func BenchmarkMatrix(b *testing.B) {
	profiles, err := filepath.Glob("../../../example/profiles/*/profile.yaml")
	if err != nil || len(profiles) < 9 {
		b.Fatal("there are fewer profiles than nine: ", profiles, err)
	}
	began := processorTime(b)
	rounds, objects := 0, 0
	for b.Loop() {
		program := golden.Compile(b, compiler.Options{}, profiles...)
		m := compare.Matrix{Variants: []string{compare.Plain}}
		for _, version := range program.Profiles() {
			m.Providers = append(m.Providers, version.Providers...)
		}
		snapshots, err := m.Snapshots(b.Context(), gardener.Generator{})
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range snapshots {
			s.Invent(program.Lookups()...)
		}
		fewer := golden.Load(b, profiles...)
		for _, document := range fewer {
			document.ControlPlane = slices.DeleteFunc(document.ControlPlane, func(r v1alpha1.TargetRules) bool { return r.Target == "kube-controller-manager" })
		}
		next, err := compiler.Compile(fewer, compiler.Options{})
		if err != nil {
			b.Fatal(err)
		}
		result, err := compare.Run(b.Context(), compare.Options{Old: compare.CompiledSide{Program: program}, New: compare.CompiledSide{Program: next}, Snapshots: snapshots})
		if err != nil {
			b.Fatal(err)
		}
		if !result.Differs() {
			b.Fatal("want differences, got none")
		}
		rounds, objects = rounds+1, result.Objects
	}
	seconds := (processorTime(b) - began).Seconds() / float64(rounds)
	b.ReportMetric(seconds, "cpu-s/op")
	b.ReportMetric(float64(objects), "objects")
	if seconds > longest {
		b.Errorf("a matrix takes %.1f s of CPU, more than %d", seconds, longest)
	}
}

// processorTime is the CPU time of the process until now.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
