// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// TestDiscovery checks that dockerd finds the provider by its specification files: an address, and one with
// certificates.
func TestDiscovery(t *testing.T) {
	w := empty(t)
	folder := w.machine.Folder
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := env.NewAuthority(t)
	write(filepath.Join(folder, "ca.crt"), a.PEM)
	for _, name := range []string{"server", "client"} {
		certificate, key := a.Issue(name)
		write(filepath.Join(folder, name+".crt"), certificate)
		write(filepath.Join(folder, name+".key"), key)
	}
	write(filepath.Join(folder, "config.yaml"), []byte(`apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
listeners:
- address: unix:///run/docker/plugins/graft.sock
  contracts: [docker]
- address: unix://`+folder+`/spec.sock
  contracts: [docker]
- address: tcp://127.0.0.1:9475
  contracts: [docker]
  tls: {certFile: `+folder+`/server.crt, keyFile: `+folder+`/server.key, clientCAFile: `+folder+`/ca.crt}
`))
	w.provider = w.machine.Configured(absolute(t, "bin", "graft-network-provider"),
		absolute(t, "test", "system", "docker", "testdata", "acme.yaml"),
		"--config="+filepath.Join(folder, "config.yaml"))
	w.start(w.provider)
	plugins := w.machine.Root("/etc/docker/plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(plugins, "byspec.spec"), []byte("unix://"+folder+"/spec.sock"))
	write(filepath.Join(plugins, "byjson.json"), []byte(`{"Name": "byjson", "Addr": "https://127.0.0.1:9475", "TLSConfig": {"InsecureSkipVerify": false, "CAFile": "`+
		folder+`/ca.crt", "CertFile": "`+folder+`/client.crt", "KeyFile": "`+folder+`/client.key"}}`))
	write(filepath.Join(plugins, "stranger.json"),
		[]byte(`{"Name": "stranger", "Addr": "https://127.0.0.1:9475", "TLSConfig": {"CAFile": "`+folder+`/ca.crt"}}`))
	w.start(&w.dockerd.Process)
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	for driver, subnet := range map[string]string{"graft": "172.31.1.0/24", "byspec": "172.31.2.0/24",
		"byjson": "172.31.3.0/24"} {
		w.docker("network", "create", "-d", driver, "--subnet="+subnet, driver)
		w.run(driver+"-1", driver)
		w.run(driver+"-2", driver)
		w.both(driver+"-1", driver+"-2", driver)
	}
	w.refused([]string{"certificate required"}, "network", "create", "-d", "stranger", "--subnet=172.31.4.0/24",
		"stranger")
}
