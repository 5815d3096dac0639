// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilteredFamilies(t *testing.T) {
	folder := t.TempDir()
	if got := filteredFamilies(filepath.Join(folder, "none")); got != nil {
		t.Errorf("without br_netfilter: %v", got)
	}
	for name, value := range map[string]string{"bridge-nf-call-iptables": "1\n", "bridge-nf-call-ip6tables": "0\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"IPv4"}, filteredFamilies(folder)); diff != "" {
		t.Error(diff)
	}
}
