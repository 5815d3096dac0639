// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout

import "fmt"

const template = "spec.template"

// deployment replaces pods for its template alone, also for labels and annotations in it; those of the Deployment itself are copied
// to its ReplicaSets, which replaces no pods (k8s.io/kubernetes pkg/controller/deployment/util, EqualIgnoreHash).
func deployment(c *change) []Effect {
	effects := append(c.scaled(), c.immutable("selector")...)
	if !c.changed("spec", "template") {
		return effects
	}
	switch {
	case c.noPods():
		return append(effects, c.asleep())
	case c.after.at("spec", "paused").value == true:
		return append(effects, Effect{Later, "pods are replaced once the Deployment is no longer paused", c.places(template)})
	case c.after.text("spec", "strategy", "type") == "Recreate":
		return append(effects, Effect{Pods, "pods are replaced, all at once (strategy Recreate)", c.places(template)})
	default:
		return append(effects, c.podsReplaced())
	}
}

// statefulSet replaces pods for its template; of the rest only a few fields may change once it exists
// (k8s.io/kubernetes pkg/apis/apps/validation, ValidateStatefulSetUpdate).
func statefulSet(c *change) []Effect {
	effects := append(c.scaled(), c.immutable("selector", "serviceName", "podManagementPolicy")...)
	if c.changed("spec", "volumeClaimTemplates") {
		effects = append(effects, Effect{
			Later, "volumes of a StatefulSet that is made anew; the API server refuses it for one that exists", c.places("spec.volumeClaimTemplates"),
		})
	}
	if !c.changed("spec", "template") {
		return effects
	}
	switch {
	case c.noPods():
		return append(effects, c.asleep())
	case c.after.text("spec", "updateStrategy", "type") == "OnDelete":
		return append(effects, c.onDelete())
	default:
		return append(effects, c.podsReplaced())
	}
}

func daemonSet(c *change) []Effect {
	effects := c.immutable("selector")
	if !c.changed("spec", "template") {
		return effects
	}
	if c.after.text("spec", "updateStrategy", "type") == "OnDelete" {
		return append(effects, c.onDelete())
	}
	return append(effects, c.podsReplaced())
}

// job cannot change its pods any more.
func job(c *change) []Effect { return c.immutable("template", "selector", "completions") }

func cronJob(c *change) []Effect {
	if !c.changed("spec", "jobTemplate") {
		return nil
	}
	return []Effect{{Later, "the next Job is made of it, one that runs is not", c.places("spec.jobTemplate")}}
}

// verticalPodAutoscaler has consequences only by what it recommends later.
func verticalPodAutoscaler(c *change) []Effect {
	if !c.changed("spec") {
		return nil
	}
	return []Effect{{Nothing, "nothing is replaced at once; later recommendations follow the new policy and may evict pods", c.places("spec")}}
}

func (c *change) podsReplaced() Effect { return Effect{Pods, "pods are replaced", c.places(template)} }

func (c *change) asleep() Effect {
	return Effect{Later, "no pods run (replicas: 0); those that are started later have it", c.places(template)}
}

func (c *change) onDelete() Effect {
	return Effect{Later, "a pod has it when it was deleted (updateStrategy OnDelete)", c.places(template)}
}

// noPods says that the workload has none before and after.
func (c *change) noPods() bool {
	return c.before.replicas() == 0 && c.after.replicas() == 0
}

func (c *change) scaled() []Effect {
	was, is := c.before.replicas(), c.after.replicas()
	if was == is {
		return nil
	}
	return []Effect{{Scale, fmt.Sprintf("from %d to %d pods", was, is), []string{"spec.replicas"}}}
}

// immutable are the fields of spec that the API server lets nobody change.
func (c *change) immutable(fields ...string) []Effect {
	var effects []Effect
	for _, field := range fields {
		if c.changed("spec", field) {
			effects = append(effects, Effect{
				Breaks, "the API server refuses the change of spec." + field + " of an object that exists", c.places("spec." + field),
			})
		}
	}
	return effects
}
