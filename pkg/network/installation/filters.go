// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"os"
	"path/filepath"
	"strings"
)

// bridgeFilters are the settings of the kernel by which frames that a bridge hands on pass the packet filters of the machine (br_netfilter), too, and
// the families that they are for.
var bridgeFilters = [][2]string{{"bridge-nf-call-iptables", "IPv4"}, {"bridge-nf-call-ip6tables", "IPv6"}}

// filteredFamilies are the families of which frames on bridges pass the packet filters; folder is /proc/sys/net/bridge.
func filteredFamilies(folder string) []string {
	var families []string
	for _, filter := range bridgeFilters {
		if text, err := os.ReadFile(filepath.Join(folder, filter[0])); err == nil && strings.TrimSpace(string(text)) != "0" {
			families = append(families, filter[1])
		}
	}
	return families
}

// warnOfFilters says what keeps containers of one bridge apart though all links are there: dockerd drops what is forwarded, but by its own bridges.
func (d *Docker) warnOfFilters() {
	if families := filteredFamilies("/proc/sys/net/bridge"); len(families) > 0 {
		d.log.Info("Packets between containers of one bridge pass the machine's FORWARD chain: where that drops, as dockerd makes it, they are lost; "+
			"docs/usage/docker.md, \"Packet filters\", has the rule that lets them pass", "families", families)
	}
}
