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

// TestRestartDuringQuarantine restarts containers with named addresses of a pool with a quarantine that is longer than
// the test: each network gets its own address again.
func TestRestartDuringQuarantine(t *testing.T) {
	w := full(t)
	for name, test := range map[string]struct {
		create         []string
		option, wanted string
	}{
		"leased": {[]string{"--ipam-driver=graft", "--ipam-opt=profile=acme.com/resting", "--subnet=10.66.0.0/24"}, "ip", "10.66.0.19"},
		"owned":  {[]string{"--ipam-driver=null"}, "driver-opt=address", "10.66.0.18"},
	} {
		w.docker(append(append([]string{"network", "create", "-d", "graft", "-o", "profile=acme.com/resting"}, test.create...), name)...)
		named := "name=" + name + "," + test.option + "=" + test.wanted
		has := func() string {
			return strings.Fields(w.in(name, "/bin/ip", "-4", "-oneline", "address", "show", "eth0"))[3]
		}

		t.Logf("%s: restarted by hand", name)
		w.docker("run", "--detach", "--stop-timeout=0", "--name="+name, "--network="+named, engine.Image, "/bin/sleep", "1d")
		for range 2 {
			w.docker("restart", "-t", "0", name)
			if got := has(); got != test.wanted+"/24" {
				t.Errorf("%s: after the restart the container has %s", name, got)
			}
		}
		w.docker("rm", "--force", name)

		t.Logf("%s: restarted by its policy", name)
		w.docker("run", "--detach", "--stop-timeout=0", "--restart=always", "--name="+name, "--network="+named, engine.Image,
			"/bin/sleep", "1")
		const enough = 2
		count := 0
		for deadline := time.Now().Add(time.Minute); count < enough &&
			time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			w.decode(w.docker("inspect", "--format={{.RestartCount}}", name), &count)
		}
		if count < enough {
			t.Errorf("%s: too few restarts in the time limit: %d", name, count)
		}
		w.none()

		t.Logf("%s: nobody else gets it before its time", name)
		other := name + "-not"
		w.docker("network", "create", "-d", "graft", "-o", "profile=acme.com/resting", "--ipam-driver=null", other)
		w.refused([]string{test.wanted, "in quarantine until"}, "run", "--rm",
			"--network=name="+other+",driver-opt=address="+test.wanted, engine.Image, "/bin/true")
		w.none()
	}
}
