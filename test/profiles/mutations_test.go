// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// floor is the share of the providers' mutations that profiles say at least, in percent.
const floor = 97

// row is one atomic mutation that a provider's own program makes, in example/profiles/<provider>/mutations.yaml: with
// the rule that says it and a golden file that shows it, or with the reason why no rule does.
type row struct {
	// ID is unique for the provider.
	ID string `json:"id"`
	// Of is where the inventory lists it.
	Of string `json:"of"`
	// Set is controlplane when empty, and Target a target of the contract, or kind and name of other objects.
	Set    target.Set `json:"set,omitempty"`
	Target string     `json:"target"`
	// The change, its condition, and its data in addition to the object.
	What string `json:"what"`
	When string `json:"when,omitempty"`
	Data string `json:"data,omitempty"`
	// Rule is the name of the rule below the target, and Case the golden file with its change of an object.
	Rule string `json:"rule,omitempty"`
	Case string `json:"case,omitempty"`
	Why  string `json:"why,omitempty"`
}

func readRows(t *testing.T, provider string) []row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, provider, "mutations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Mutations []row `json:"mutations"`
	}
	if err := yaml.UnmarshalStrict(data, &table); err != nil {
		t.Fatalf("reading the mutations of %s: %v", provider, err)
	}
	return table.Mutations
}

// checkMutations checks that each row has a rule that changes something in its case, or a reason, and that few have a
// reason.
func checkMutations(t *testing.T, all shown) {
	t.Helper()
	said, total := 0, 0
	var lines strings.Builder
	for _, provider := range providers(t) {
		document := golden.Load(t, filepath.Join(root, provider, "profile.yaml"))[0]
		seen := map[string]bool{}
		ours := 0
		rows := readRows(t, provider)
		for _, r := range rows {
			if seen[r.ID] || r.ID == "" || r.Of == "" || r.What == "" {
				t.Errorf("%s: the row %q is listed twice or lacks a field", provider, r.ID)
			}
			seen[r.ID] = true
			if r.Why == "" {
				ours++
				r.check(t, provider, document, all[provider])
			} else if r.Rule != "" || r.Case != "" {
				t.Errorf("%s: %s has both a rule and a reason for no rule", provider, r.ID)
			}
		}
		fmt.Fprintf(&lines, "| [%s](%s/README.md) | %d | %d | %d |\n", provider, provider, len(rows), ours,
			len(all[provider]))
		said, total = said+ours, total+len(rows)
	}
	fmt.Fprintf(&lines, "| all | %d | %d | %d |\n", total, said, all.cases())
	compareTable(t, lines.String())
	t.Logf("%d of %d mutations have a rule: %.1f %%", said, total, 100*float64(said)/float64(total))
	if 100*said < floor*total {
		t.Errorf("less than %d %% of the mutations have a rule", floor)
	}
}

// tableHead begins the table at the end of the README of the profiles.
const tableHead = "| provider | mutations of its own program | with a rule | golden cases |\n|---|---|---|---|\n"

// compareTable checks that the README of the profiles ends in the table; with -update it writes it.
func compareTable(t *testing.T, lines string) {
	t.Helper()
	path := filepath.Join(root, "README.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(content), tableHead)
	if !found {
		t.Fatalf("%s has no table", path)
	}
	golden.Compare(t, path, before+tableHead+lines)
}

// cases are all golden files.
func (s shown) cases() int {
	count := 0
	for _, cases := range s {
		count += len(cases)
	}
	return count
}

// check checks that the rule exists and changes an object in the case.
func (r row) check(t *testing.T, provider string, d *profile.Document, cases map[string]map[string]mutation.Outcome) {
	t.Helper()
	rule, ok := r.find(d)
	if !ok {
		t.Errorf("%s: %s: there is no rule %q of %s", provider, r.ID, r.Rule, r.Target)
		return
	}
	outcomes, ok := cases[r.Case]
	if !ok {
		t.Errorf("%s: %s: there is no case %q", provider, r.ID, r.Case)
		return
	}
	if got := outcomes[rule.At.Position().String()]; got != mutation.Changed {
		t.Errorf("%s: %s: the rule %q of %s is %q in %s", provider, r.ID, r.Rule, r.Target, got, r.Case)
	}
}

// find finds the rule by its name.
func (r row) find(d *profile.Document) (v1alpha1.Rule, bool) {
	set := r.Set
	if set == "" {
		set = target.ControlPlane
	}
	for _, entry := range rulesOf(d)[set] {
		name := entry.Target
		if entry.Objects != nil {
			name = strings.TrimSpace(entry.Objects.Kind + " " + entry.Objects.Name)
		}
		if name != r.Target {
			continue
		}
		if i := slices.IndexFunc(entry.Rules,
			func(rule v1alpha1.Rule) bool { return rule.Name != "" && rule.Name == r.Rule }); i >= 0 {
			return entry.Rules[i], true
		}
	}
	return v1alpha1.Rule{}, false
}
