// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"encoding/binary"
	"slices"

	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// The limits of a KubeletCache, which bound its texts to 8 MiB.
const (
	// CachedTexts is the number of results.
	CachedTexts = 512
	// CachedTextBytes limits the size of the two texts of a result, in bytes. They usually take a few KiB.
	CachedTextBytes = 16 << 10
)

// KubeletCache remembers how consecutive rules changed the kubelet's two texts, so that the same rules need not parse
// the same texts again (docs/decisions/0016-cache-of-kubelet-edits.md). It must not hold values of Secrets. It is safe
// for concurrent use.
type KubeletCache struct{ effects *lru.Cache }

// kubeletEffect is the effect of consecutive rules on the texts.
type kubeletEffect struct {
	edit target.KubeletEdit
	// changed reports for each rule that is not skipped whether it changed a text. The key of the effect does not tell
	// how many rules are skipped: a forEach has one for each item with a false condition.
	changed []bool
}

func newKubeletCache() *KubeletCache { return &KubeletCache{lru.New(CachedTexts)} }

// cacheableRules returns the number of leading rules that are skipped or whose effect depends only on their values and
// on the kubelet's two texts. It returns 0 if none of them writes.
func cacheableRules(rules []PlannedRule) int {
	end := 0
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if !rules[i].Rule.inKubelet || slices.ContainsFunc(rules[i].Steps, func(s Step) bool { return s.Kept }) {
			break
		}
		end = i + 1
	}
	return end
}

// apply applies the rules, if possible with a cached result. It fails with a *Failure, as PlannedRule.apply does.
func (c *KubeletCache) apply(rules []PlannedRule, o *target.Object, applied []Applied) error {
	if err := o.Flush(); err != nil {
		return applyFailure("the units and files", err)
	}
	texts := o.KubeletTexts(slices.ContainsFunc(rules, editsConfiguration))
	if len(texts.Unit)+len(texts.Configuration) > CachedTextBytes {
		_, err := applyAll(rules, o, applied)
		return err
	}
	key := cacheKey(rules, texts)
	if known, ok := c.effects.Get(key); ok {
		effect := known.(*kubeletEffect)
		changed := effect.changed
		if err := o.EditKubelet(effect.edit); err != nil {
			return applyFailure("the units and files", err)
		}
		for i := range rules {
			if rules[i].Skipped == "" {
				rules[i].report(&applied[i], changed[0])
				changed = changed[1:]
			}
		}
		return nil
	}
	changed, err := applyAll(rules, o, applied)
	if err != nil {
		return err
	}
	if err := o.Flush(); err != nil {
		return applyFailure("the units and files", err)
	}
	if edit, ok := o.KubeletEdit(texts); ok && edit.Bytes() <= CachedTextBytes {
		c.effects.Add(key, &kubeletEffect{edit, changed})
	}
	return nil
}

// applyAll applies the rules and reports for each that is not skipped whether it changed a text.
func applyAll(rules []PlannedRule, o *target.Object, applied []Applied) ([]bool, error) {
	var changed []bool
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if err := rules[i].apply(o, &applied[i], nil); err != nil {
			return nil, err
		}
		changed = append(changed, applied[i].Outcome == Changed)
	}
	return changed, nil
}

// editsConfiguration reports whether the rule edits the configuration file. Every rule for the kubelet reads the unit.
func editsConfiguration(p PlannedRule) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Overridden == "" && (s.Place.Kind == operation.KubeletField || s.Place.Kind == operation.FeatureGate)
	})
}

// cacheKey returns the key of everything that determines the effect of the rules on the texts.
func cacheKey(rules []PlannedRule, texts target.KubeletTexts) [2]uint64 {
	contents, numbers := append(make([][]byte, 0, 32), texts.Unit, texts.Configuration), make([]byte, 0, 64)
	add := func(n int) { numbers = binary.AppendUvarint(numbers, uint64(n)) }
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		add(rules[i].Rule.number)
		add(len(rules[i].Steps))
		for j := range rules[i].Steps {
			step := &rules[i].Steps[j]
			number := 2 * len(step.Value.Texts)
			if step.Value.Absent {
				number++
			}
			add(number)
			contents = append(contents, []byte(step.Overridden), step.Value.JSON)
			for _, text := range step.Value.Texts {
				contents = append(contents, []byte(text))
			}
		}
	}
	return target.CacheKey(append(contents, numbers)...)
}
