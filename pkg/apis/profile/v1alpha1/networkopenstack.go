// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// NetworkOpenStack binds ports of OpenStack Neutron. Its files are on the server, and reloaded when they change.
type NetworkOpenStack struct {
	// CloudsFile is the path of a clouds.yaml. A secure.yaml next to it is read, too.
	CloudsFile source.Text `json:"cloudsFile,omitempty"`
	// Cloud is the name of the entry in cloudsFile; openstack by default.
	Cloud source.Text `json:"cloud,omitempty"`
	// SecretFolder is a folder with the keys of Gardener's cloudprovider Secret as files, instead of cloudsFile.
	SecretFolder source.Text `json:"secretFolder,omitempty"`
	// AuthURL is the URL of Keystone, for a Secret without authURL.
	AuthURL source.Text `json:"authURL,omitempty"`
	// Region is the region of Neutron; by default from the entry in cloudsFile.
	Region source.Text `json:"region,omitempty"`
	// NetworkID is the ID of the network of the ports.
	NetworkID source.Text `json:"networkID"`
	// SubnetIDs are subnets for addresses that Neutron chooses, at most one of each family; by default the pool chooses
	// addresses.
	SubnetIDs []source.Text `json:"subnetIDs,omitempty"`
	// SecurityGroupIDs are the security groups of the ports; by default the default group of the project.
	SecurityGroupIDs []source.Text `json:"securityGroupIDs,omitempty"`
	// AllowedAddressPairs are additional source prefixes of a port.
	AllowedAddressPairs []source.Text `json:"allowedAddressPairs,omitempty"`
	// NamePrefix is the prefix of port names; graft by default. Each installation in a project needs its own.
	NamePrefix source.Text `json:"namePrefix,omitempty"`
	// Trunk attaches the ports to the trunk of the node's NIC as VLANs; by default ports stay unattached.
	Trunk *NetworkOpenStackTrunk `json:"trunk,omitempty"`
}

// NetworkOpenStackTrunk attaches ports to the trunk whose parent port has the MAC address of the node's NIC.
type NetworkOpenStackTrunk struct {
	// Create creates a missing trunk; by default it is an error.
	Create bool `json:"create,omitempty"`
	// VLANs is the range of VLANs on the trunk; 1-4094 by default.
	VLANs NetworkVLANs `json:"vlans,omitempty"`
	// WarmPorts is the greatest number of ports of a node that are created before they are needed; none by default.
	WarmPorts int `json:"warmPorts,omitempty" between:"1,200"`
}
