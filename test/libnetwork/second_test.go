// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// TestSecondServerRefused starts a second server with its own ledger next to the first one. It ends and changes
// nothing.
func TestSecondServerRefused(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		w.network(engine.Network{Name: "net", Four: four})
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		made, two := w.attach(engine.Endpoint{Network: "net", Name: "two"})
		before := w.links("")
		for name, driver := range map[string]string{"the same socket": "graft", "another socket": "other"} {
			t.Run(name, func(t *testing.T) {
				second := &server{t: t, driver: driver, folder: t.TempDir(), log: &log{}}
				second.write("profile.yaml", document)
				second.write("config.yaml", configured(second.folder, `[{address: "unix:///run/docker/plugins/`+driver+`.sock", contracts: [docker]}]`))
				second.launch()
				<-second.ended
				if said := second.log.String(); second.process.ProcessState.ExitCode() == 0 || !strings.Contains(said, "another process manages Docker's links") {
					t.Errorf("want an error, got status %d and\n%s", second.process.ProcessState.ExitCode(), said)
				}
			})
		}
		if after := w.links(""); after != before {
			t.Errorf("the links were %s, and are %s", before, after)
		}
		one.reaches(two, made.Four)
		w.detach("net", "one", "two")
		w.remove("net")
		w.clean()
	})
}
