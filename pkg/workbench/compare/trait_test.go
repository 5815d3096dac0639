// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strings"
	"testing"
)

func TestSeparate(t *testing.T) {
	// Each word is a shoot: its traits, and * where it is one of those to be set apart.
	for _, c := range []struct{ name, shoots, want string }{
		{"all", "1.31* 1.32*", ""},
		{"one version", "1.31 1.32* 1.33", "for Kubernetes 1.32"},
		{"older versions", "1.9* 1.10* 1.31", "up to Kubernetes 1.10"},
		{"newer versions", "1.9 1.10* 1.31*", "from Kubernetes 1.10 on"},
		{"some versions", "1.31* 1.32 1.33* 1.34", "for Kubernetes 1.31 and 1.33"},
		{"a flag", "1.31,ha* 1.32 1.32,ha* 1.31", "with high availability"},
		{"not a flag", "1.31,hibernated 1.31* 1.32*", "when not hibernated"},
		{"two traits", "1.31,ha 1.31 1.32,ha* 1.32", "for Kubernetes 1.32 and with high availability"},
		{"a provider", "1.31,a* 1.32,a* 1.31,b", "for the provider a"},
		{"several providers", "1.31,a* 1.32,b* 1.31,c", "for the providers a and b"},
		{"three traits", "1.31,ha,a* 1.31,ha,b 1.31,a 1.32,ha,a", ""},
		{"nothing", "1.31* 1.31", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var (
				known       []map[string]string
				some, among []int
			)
			for i, word := range strings.Fields(c.shoots) {
				word, is := strings.CutSuffix(word, "*")
				if among = append(among, i); is {
					some = append(some, i)
				}
				traits := map[string]string{"highAvailability": "false", "hibernated": "false"}
				for trait := range strings.SplitSeq(word, ",") {
					switch {
					case strings.HasPrefix(trait, "1."):
						traits["kubernetes"] = trait
					case trait == "ha":
						traits["highAvailability"] = "true"
					case trait == "hibernated":
						traits[trait] = "true"
					default:
						traits["provider"] = trait
					}
				}
				known = append(known, traits)
			}
			if got := separate(known, some, among); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
