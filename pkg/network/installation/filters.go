// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"os"
	"path/filepath"
	"strings"
)

// bridgeFilters lists the kernel settings (br_netfilter) that pass bridged frames through the machine's packet
// filters, with the address family of each.
var bridgeFilters = [][2]string{{"bridge-nf-call-iptables", "IPv4"}, {"bridge-nf-call-ip6tables", "IPv6"}}

// filteredFamilies returns the families with bridged frames that pass the packet filters. folder is
// /proc/sys/net/bridge.
func filteredFamilies(folder string) []string {
	var families []string
	for _, filter := range bridgeFilters {
		if text, err := os.ReadFile(filepath.Join(folder, filter[0])); err == nil && strings.TrimSpace(string(text)) != "0" {
			families = append(families, filter[1])
		}
	}
	return families
}

// warnOfFilters logs a warning if the packet filters can separate containers on one bridge: dockerd drops
// forwarded packets except those of its own bridges.
func (d *Docker) warnOfFilters() {
	if families := filteredFamilies("/proc/sys/net/bridge"); len(families) > 0 {
		d.log.Info("Packets between containers on one bridge pass the machine's FORWARD chain and are lost if its policy is DROP, which dockerd sets; "+
			"see docs/usage/docker.md, \"Packet filters\", for the rule that accepts them", "families", families)
	}
}
