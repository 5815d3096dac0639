//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

const (
	root = "../../.."
	// guestVariable says to a process that it is in the guest.
	guestVariable = "GRAFT_CLOCK_GUEST"
	// definition is the file, in the guest, of the definition of Clusters.
	definition = "clusters.yaml"
	extension  = "gardener-extension-provider-graft"
)

func TestMain(m *testing.M) {
	uml.Guest()
	if os.Getenv(guestVariable) != "" {
		os.Exit(guest())
	}
	os.Exit(m.Run())
}

// TestJump boots a guest whose clock jumps; jumps runs inside it.
func TestJump(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 18*time.Minute)
	defer cancel()
	tools := filepath.Join(root, ".cache", "tools", "bin")
	var out bytes.Buffer
	err = uml.Run(ctx, uml.Job{
		Command: []string{"guest"}, Env: []string{guestVariable + "=1"}, Memory: 3072,
		Files: map[string]string{
			"guest": self, "etcd": filepath.Join(tools, "etcd"), "kube-apiserver": filepath.Join(tools, "kube-apiserver"),
			extension:  filepath.Join(root, "bin", extension),
			definition: filepath.Join(gardener(t), "example", "seed-crds", "10-crd-extensions.gardener.cloud_clusters.yaml"),
		},
	}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// gardener is the folder of Gardener's module.
func gardener(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/gardener/gardener")
	command.Dir = root
	found, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(found))
}

// guest runs the snapshot and says how it went.
func guest() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := jumps(ctx); err != nil {
		fmt.Println("FAILED:", err)
		return 1
	}
	return 0
}
