// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/digests.txt anew")

// TestDigests compares the bytes of the samples with earlier runs. A new version of Gardener changes them: review the
// changes, then run the test with -update.
func TestDigests(t *testing.T) {
	const file = "testdata/digests.txt"
	got := digests(t)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
}

// digests has a line for each object: control plane, kind, name, size in bytes, first bytes of the SHA-256.
func digests(t *testing.T) string {
	t.Helper()
	garden, err := VirtualGarden(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	older, err := Legacy(LegacyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, plane := range []struct {
		name    string
		objects []Object
	}{
		{"1.34", mustControlPlane(t, Options{})},
		{"1.31-ha-ipv6", mustControlPlane(t, Options{Kubernetes: "1.31.0", HighAvailability: true, IPv6: true})},
		{"garden", garden},
		{"older", older},
	} {
		for _, o := range plane.objects {
			sum := sha256.Sum256(o.JSON)
			fmt.Fprintf(&b, "%s %s %s %d %x\n", plane.name, o.Object.GetObjectKind().GroupVersionKind().Kind,
				o.Object.GetName(), len(o.JSON), sum[:8])
		}
	}
	return b.String()
}
