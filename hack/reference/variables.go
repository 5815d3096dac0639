// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

// summary describes a variable in one line, such as device, or a field of an object, such as graft.Device.pci.
func summary(name string) string { return summaries[name] }

var summaries = map[string]string{
	"device":                  "the network device, as far as the caller knows it",
	"graft.Device.name":       "the name of the device in Kubernetes or in Linux; callers differ, and it may be empty",
	"graft.Device.pci":        "the PCI address, such as 0000:27:00.2; empty for devices that are not on a bus",
	"graft.Device.mac":        "the hardware address",
	"request":                 "the requested resources and their owner",
	"graft.Request.contract":  "the contract of the request: dranet, spiderpool or docker",
	"graft.Request.profile":   "the profile that the user chose; empty where the contract has no profiles",
	"graft.Request.pool":      "the pool that would give the address",
	"graft.Request.node":      "the node of the caller",
	"graft.Request.parent":    "the MAC address of the interface that carries the VLAN; by DRANET that of the device",
	"graft.Request.addresses": "the addresses that the request names",
	"graft.Request.network":   "Docker's identifier of the network",
	"graft.Request.options":   "the options of Docker's -o or --ipam-opt; empty for other contracts",
	"graft.Request.namespace": "the namespace of the claim, or else of the pod",
	"graft.Request.name":      "the name of the claim, or else of the pod",
	"graft.Request.uid":       "the UID of the claim, or else of the pod",
	"claim":                   "the ResourceClaim; older versions of DRANET say only its UID",
	"graft.Claim.uid":         "its UID",
	"graft.Claim.namespace":   "its namespace",
	"graft.Claim.name":        "its name",
	"graft.Claim.labels":      "its labels; empty where the caller does not say them",
	"graft.Claim.annotations": "its annotations; empty where the caller does not say them",
	"graft.Claim.pods":        "the UIDs of the pods that it is reserved for",
	"pod":                     "the pod; by DRANET the only one that a claim is reserved for, where it says so",
	"graft.Pod.uid":           "its UID",
	"graft.Pod.namespace":     "its namespace",
	"graft.Pod.name":          "its name",
	"config":                  "the requested NetworkConfig, as DRANET sends it; without fields that are not set",
}
