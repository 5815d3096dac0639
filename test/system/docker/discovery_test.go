// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

var _ = Describe("dockerd", func() {
	scenario("finds the network provider by files with its address, and with certificates", func(w *world) {
		folder := w.machine.Folder
		authority := env.NewAuthority(GinkgoTB())
		w.write(filepath.Join(folder, "ca.crt"), string(authority.PEM))
		for _, name := range []string{"server", "client"} {
			certificate, key := authority.Issue(name)
			w.write(filepath.Join(folder, name+".crt"), string(certificate))
			w.write(filepath.Join(folder, name+".key"), string(key))
		}
		w.write(filepath.Join(folder, "config.yaml"), `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
listeners:
- address: unix:///run/docker/plugins/graft.sock
  contracts: [docker]
- address: unix://`+folder+`/spec.sock
  contracts: [docker]
- address: tcp://127.0.0.1:9475
  contracts: [docker]
  tls: {certFile: `+folder+`/server.crt, keyFile: `+folder+`/server.key, clientCAFile: `+folder+`/ca.crt}
`)
		w.provider = w.machine.Configured(provider, absolute("testdata/acme.yaml"),
			"--config="+filepath.Join(folder, "config.yaml"))
		plugins := w.machine.Root("/etc/docker/plugins")
		w.Expect(os.MkdirAll(plugins, 0o755)).To(Succeed())
		w.write(filepath.Join(plugins, "byspec.spec"), "unix://"+folder+"/spec.sock")
		w.write(filepath.Join(plugins, "byjson.json"), `{"Name": "byjson", "Addr": "https://127.0.0.1:9475", `+
			`"TLSConfig": {"InsecureSkipVerify": false, "CAFile": "`+folder+`/ca.crt", "CertFile": "`+folder+`/client.crt", `+
			`"KeyFile": "`+folder+`/client.key"}}`)
		w.write(filepath.Join(plugins, "stranger.json"), `{"Name": "stranger", "Addr": "https://127.0.0.1:9475", `+
			`"TLSConfig": {"CAFile": "`+folder+`/ca.crt"}}`)
		w.begin()
		for driver, subnet := range map[string]string{
			"graft": "172.31.1.0/24", "byspec": "172.31.2.0/24", "byjson": "172.31.3.0/24",
		} {
			w.docker("network", "create", "-d", driver, "--subnet="+subnet, driver)
			w.run(driver+"-1", driver)
			w.run(driver+"-2", driver)
			w.both(driver+"-1", driver+"-2", driver)
		}
		w.refused([]string{"certificate required"}, "network", "create", "-d", "stranger", "--subnet=172.31.4.0/24",
			"stranger")
	})
})

func (w *world) write(path, text string) {
	w.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
}
