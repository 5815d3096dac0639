// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"net"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

const (
	region   = "region-1"
	seedPods = "10.241.0.0/16"
	// networking is the type of the shoot's network.
	networking = "calico"
)

// networks are the ranges of the shoot and the addresses that gardenlet derives from them.
type networks struct {
	families              []gardencorev1beta1.IPFamily
	nodes, pods, services string
	// inShoot is the address of the API server inside the shoot's network, dns that of CoreDNS.
	inShoot, dns string
	// advertised is the seed's address of the API server, moved to the range that Gardener reserves for it
	// (pkg/gardenlet/operation/botanist/kubeapiserverexposure.go).
	advertised string
	// maxNodes is the number of nodes that the range of the pods has room for.
	maxNodes int64
}

func (o Options) networks() networks {
	if o.IPv6 {
		return networks{
			families: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv6},
			nodes:    "2001:db8:1::/64", pods: "2001:db8:2::/56", services: "2001:db8:3::/108",
			inShoot: "2001:db8:3::1", dns: "2001:db8:3::a", advertised: "64:ff9b:1::10.242.17.4", maxNodes: 256,
		}
	}
	return networks{
		families: []gardencorev1beta1.IPFamily{gardencorev1beta1.IPFamilyIPv4},
		nodes:    "10.250.0.0/16", pods: "100.96.0.0/11", services: "100.64.0.0/13",
		inShoot: "100.64.0.1", dns: "100.64.0.10", advertised: "240.242.17.4", maxNodes: 8192,
	}
}

// domain returns the shoot's external domain, below a name reserved for documentation.
func (o Options) domain() string {
	return fmt.Sprintf("%s.%s.shoot.example.com", o.name(), o.project())
}

// ranges parses constants of this package; the empty string is no range.
func ranges(cidr string) []net.IPNet {
	_, n, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil
	}
	return []net.IPNet{*n}
}

// minorBefore returns the first patch version of the minor version before that one, if there are samples of it.
func minorBefore(version string) (string, bool) {
	v, err := semver.NewVersion(version)
	if err != nil || v.Minor() <= oldestMinor {
		return "", false
	}
	return fmt.Sprintf("%d.%d.0", v.Major(), v.Minor()-1), true
}
