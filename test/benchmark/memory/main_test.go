// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const size = 300_000

// TestMain runs the benchmark when the benchmark starts itself as the classical manager.
func TestMain(m *testing.M) {
	for _, argument := range os.Args[1:] {
		if strings.HasPrefix(argument, "-classical-") {
			main()
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// TestMoment measures a few shoots and checks that the extension keeps no CloudProfile for each of them, unlike the
// classical way.
func TestMoment(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	program, err := env.Program(filepath.Join("..", "..", ".."), "gardener-extension-provider-graft")
	if err != nil {
		t.Fatal(err)
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	land, err := landscape.Start(t.Context(), landscape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = land.Stop() })
	o := options{
		shoots: []int{10, 150}, size: size,
		program: program, testdata: filepath.Join("..", "testdata"),
	}
	rows, err := o.measure(t.Context(), land, itself)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := report(&out, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	added := map[string]float64{}
	for i, r := range rows[2:] {
		added[r.program] = r.growth(rows[i], func(r row) int64 { return r.live })
		if r.program == "Graft" && r.got < 150 {
			t.Errorf("%d Clusters were got for 150 shoots", r.got)
		}
	}
	if added["Graft"] > 100 || added["classical"] < 250 {
		t.Errorf("a shoot adds %.0f KB to the heap of the extension, and %.0f KB to that of the classical manager",
			added["Graft"], added["classical"])
	}
}

// TestObjects checks that generated Clusters have the right size, and that their metadata is not larger than in a seed.
func TestObjects(t *testing.T) {
	objects, err := newObjects(size)
	if err != nil {
		t.Fatal(err)
	}
	var whole, metadata bytes.Buffer
	objects.writeCluster(&whole, 7, false)
	objects.writeCluster(&metadata, 7, true)
	var cluster, partial extensionsv1alpha1.Cluster
	if err := json.Unmarshal(whole.Bytes(), &cluster); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(metadata.Bytes(), &partial); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cluster.ObjectMeta, partial.ObjectMeta); diff != "" || cluster.Name != "shoot--acme--s00007" {
		t.Errorf("%s and its metadata (-whole +metadata):\n%s", cluster.Name, diff)
	}
	if profile := len(cluster.Spec.CloudProfile.Raw); profile < size*9/10 || profile > size*11/10 {
		t.Errorf("the cloud profile has %d bytes", profile)
	}
	if shoot := len(cluster.Spec.Shoot.Raw); shoot < shootSize*9/10 || shoot > shootSize*11/10 || metadata.Len() > 5000 {
		t.Errorf("the shoot has %d bytes, and the metadata %d", shoot, metadata.Len())
	}
}

// TestReport checks the table of the rows.
func TestReport(t *testing.T) {
	var out strings.Builder
	err := report(&out, []row{
		{shoots: 10, program: "Graft", ready: 1e9, filled: 100e6, hundred: 110e6, all: 110e6, most: 111e6, live: 12e6,
			first: 2e6, again: 5e5, got: 10},
		{shoots: 20, program: "Graft", ready: 1e9, filled: 101e6, hundred: 110e6, all: 112e6, most: 113e6, live: 13e6,
			first: 2e6, again: 5e5, got: 20},
		{shoots: 20, program: "classical", none: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = header + `| 10 | Graft | 1.00 | 100 | 110 | 110 | 111 | 12 | 2.0 | 0.5 | 10 |
| 20 | Graft | 1.00 | 101 | 110 | 112 | 113 | 13 | 2.0 | 0.5 | 20 |
| 20 | classical | not enough memory | | | | | | | | |

Graft, 10 to 20 shoots: a shoot adds 200.0 KB resident (100.0 KB before admissions, 200.0 KB at most), ` +
		"100.0 KB of live heap\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
