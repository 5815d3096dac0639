// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool

// The shapes of pkg/iaas/client/types.go of Spiderpool: iaasIPs… is sent by v1.2.0 to v1.2.2, with an item for each
// address, and subEni… by later versions, with an item for each interface.

// allocateRequest is the body of allocate-ips; it has items of one of the two shapes.
type allocateRequest struct {
	Name      string `json:"podName"`
	Namespace string `json:"podNamespace"`
	UID       string `json:"podUID"`
	Node      string `json:"nodeName"`

	Items   []item   `json:"iaasIPsAllocationRequest"`
	SubENIs []subENI `json:"subEniRequests"`
}

// item is one address; the items of both families of an interface belong together.
type item struct {
	Address string `json:"ipAddress"`
	Subnet  string `json:"subnet"`
	Parent  string `json:"parentNicMac"`
}

// subENI is one interface. With both families, it has the subnet of IPv4.
type subENI struct {
	Parent   string `json:"parentNicMac"`
	Subnet   string `json:"subnet"`
	Address4 string `json:"ipv4Address"`
	Address6 string `json:"ipv6Address"`
}

// allocateResponse is the answer, with an entry for each item, in the same order.
type allocateResponse struct {
	Name      string `json:"podName"`
	Namespace string `json:"podNamespace"`
	Node      string `json:"nodeName"`

	Items   []itemResult   `json:"iaasIPsAllocationResponse,omitempty"`
	SubENIs []subENIResult `json:"subEniResponses,omitempty"`
}

// itemResult describes an address. Spiderpool keeps its own values for an empty MAC address and a VLAN of 0.
type itemResult struct {
	Parent  string `json:"parentNicMac"`
	Subnet  string `json:"subnet"`
	Address string `json:"ipAddress"`
	MAC     string `json:"macAddress"`
	VLAN    int64  `json:"vlanId"`
}

// subENIResult describes an interface.
type subENIResult struct {
	Parent   string `json:"parentNicMac"`
	Subnet   string `json:"subnet"`
	Address4 string `json:"ipv4Address"`
	Address6 string `json:"ipv6Address"`
	MAC      string `json:"macAddress"`
	VLAN     int64  `json:"vlanId"`
}

// releaseRequest is the body of release-ip. Garbage collection omits unknown fields.
type releaseRequest struct {
	Name      string `json:"podName"`
	Namespace string `json:"podNamespace"`
	UID       string `json:"podUID"`
	Node      string `json:"nodeName"`
	Parent    string `json:"parentNicMac"`
	Subnet    string `json:"subnet"`
	Address   string `json:"ipAddress"`
}
