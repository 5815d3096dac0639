// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// TestRestartOfWhatRests restarts containers with addresses that they name, of a pool where what was released rests for longer than that takes.
func TestRestartOfWhatRests(t *testing.T) {
	w := full(t)
	for name, create := range map[string][]string{
		"leased": {"--ipam-driver=graft", "--ipam-opt=profile=acme.com/resting", "--subnet=10.66.0.0/24"},
		"owned":  {"--ipam-driver=null"},
	} {
		w.docker(append(append([]string{"network", "create", "-d", "graft", "-o", "profile=acme.com/resting"}, create...), name)...)
		named := map[string]string{"leased": "name=" + name + ",ip=10.66.0.19", "owned": "name=" + name + ",driver-opt=address=10.66.0.19"}[name]
		has := func() string {
			return strings.Fields(w.in(name, "/bin/ip", "-4", "-oneline", "address", "show", "eth0"))[3]
		}

		t.Logf("%s: restarted by hand", name)
		w.docker("run", "--detach", "--stop-timeout=0", "--name="+name, "--network="+named, engine.Image, "/bin/sleep", "1d")
		for range 2 {
			w.docker("restart", "-t", "0", name)
			if got := has(); got != "10.66.0.19/24" {
				t.Errorf("%s: restarted, the container has %s", name, got)
			}
		}
		w.docker("rm", "--force", name)

		t.Logf("%s: restarted by its policy", name)
		w.docker("run", "--detach", "--stop-timeout=0", "--restart=always", "--name="+name, "--network="+named, engine.Image, "/bin/sleep", "1")
		const enough = "2"
		count := ""
		for deadline := time.Now().Add(20 * time.Second); count < enough && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			count = strings.TrimSpace(w.docker("inspect", "--format={{.RestartCount}}", name))
		}
		if count < enough {
			t.Errorf("%s: it was restarted %s times", name, count)
		}
		w.none()

		t.Logf("%s: nobody else gets it before its time", name)
		other := name + "-not"
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/resting", "--ipam-driver=null", other)
		w.refused([]string{"10.66.0.19", "rests until"}, "run", "--rm", "--network=name="+other+",driver-opt=address=10.66.0.19", engine.Image, "/bin/true")
		w.none()
		time.Sleep(restFor) // the next network is another one
	}
}

// restFor is more than what testdata/acme.yaml lets the pool resting rest: rests end with a full second, and what has ended is looked for each second.
const restFor = 14 * time.Second
