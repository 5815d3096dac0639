// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/base64"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// kubeletFile is where Gardener puts the kubelet's configuration (gardener pkg/component/extensions/operatingsystemconfig/original/
// components/kubelet, PathKubeletConfig).
const kubeletFile = "/var/lib/kubelet/config/kubelet"

// kubeletConfiguration are consequences of the kubelet's configuration beyond the restart of its unit.
//
// In pools that are updated in place, another hard eviction, sum of reservations or CPU manager policy drains the node first (gardener
// pkg/nodeagent/controller/operatingsystemconfig/changes.go, ComputeKubeletConfigChange). In all others gardener-node-agent restarts the
// kubelet and leaves its state files, and with another policy of the CPU or memory manager than in those the kubelet does not start.
func (c *change) kubeletConfiguration() []Effect {
	was, is := kubeletOf(c.before), kubeletOf(c.after)
	if !was.there() || !is.there() {
		return nil
	}
	inPlace := c.before.at("spec", "inPlaceUpdates").there() && c.after.at("spec", "inPlaceUpdates").there()
	var effects []Effect
	if inPlace {
		if places := drains(was, is); len(places) > 0 {
			effects = append(effects, Effect{Nodes, "nodes of the pool are drained and updated in place, one after the other", places})
		}
	}
	for _, manager := range []struct{ field, state string }{
		{"cpuManagerPolicy", "cpu_manager_state"}, {"memoryManagerPolicy", "memory_manager_state"},
	} {
		same := policy(was, manager.field) == policy(is, manager.field)
		if same || inPlace && manager.field == "cpuManagerPolicy" {
			continue
		}
		effects = append(effects, Effect{
			Breaks, "the kubelet of a node that exists does not start before /var/lib/kubelet/" + manager.state + " is removed",
			[]string{filePlace(kubeletFile) + "." + manager.field},
		})
	}
	return effects
}

// policy is that of a manager; the kubelet's default is none, of either case.
func policy(configuration node, field string) string {
	if value := strings.ToLower(configuration.text(field)); value != "" {
		return value
	}
	return "none"
}

// drains are the changed fields for which an in-place update is made.
func drains(was, is node) []string {
	var places []string
	at := func(field string) { places = append(places, filePlace(kubeletFile)+"."+field) }
	for _, signal := range []string{"memory.available", "imagefs.available", "imagefs.inodesFree", "nodefs.available", "nodefs.inodesFree"} {
		if was.text("evictionHard", signal) != is.text("evictionHard", signal) {
			at("evictionHard." + signal)
		}
	}
	if slices.ContainsFunc([]string{"cpu", "memory", "ephemeral-storage", "pid"}, func(name string) bool {
		before, after := reserved(was, name), reserved(is, name)
		return before.Cmp(after) != 0
	}) {
		at("kubeReserved")
		at("systemReserved")
	}
	if was.text("cpuManagerPolicy") != is.text("cpuManagerPolicy") {
		at("cpuManagerPolicy")
	}
	return places
}

// reserved is the sum of what is reserved of a resource; what is no quantity counts as none.
func reserved(configuration node, name string) resource.Quantity {
	var sum resource.Quantity
	for _, field := range []string{"kubeReserved", "systemReserved"} {
		if quantity, err := resource.ParseQuantity(configuration.text(field, name)); err == nil {
			sum.Add(quantity)
		}
	}
	return sum
}

// kubeletOf is the kubelet's configuration in an OperatingSystemConfig; the zero node where there is none that can be read.
func kubeletOf(object node) node {
	inline := object.at("spec", "files").by("path")[kubeletFile].at("content", "inline")
	data := []byte(inline.text("data"))
	if inline.text("encoding") == "b64" {
		decoded, err := base64.StdEncoding.DecodeString(string(data))
		if err != nil {
			return node{}
		}
		data = decoded
	}
	var configuration map[string]any
	if err := yaml.Unmarshal(data, &configuration); err != nil || configuration == nil {
		return node{}
	}
	return node{configuration}
}
