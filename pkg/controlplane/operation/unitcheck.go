// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// unitSections are the sections that systemd reads in each type of unit beside [Unit] and [Install] (systemd.unit(5) and the page of each
// type; src/core/load-fragment-gperf.gperf.in). It ignores others, and those that begin with X- without a word.
var unitSections = map[string][]string{
	".service": {"Service"}, ".socket": {"Socket"}, ".mount": {"Mount"}, ".automount": {"Automount"}, ".swap": {"Swap"}, ".path": {"Path"},
	".timer": {"Timer"}, ".slice": {"Slice"}, ".scope": {"Scope"}, ".target": {}, ".device": {},
}

// sectionsOf are the sections of a unit; nil where its type is not known.
func sectionsOf(unit string) []string {
	own, known := unitSections[path.Ext(unit)]
	if !known {
		return nil
	}
	return append([]string{"Unit", "Install"}, own...)
}

// checkSection judges the section of a unit; "" for one that systemd reads, or in a unit of which the type is not known.
func checkSection(unit, section string) string {
	sections := sectionsOf(unit)
	if sections == nil || strings.HasPrefix(section, "X-") || slices.Contains(sections, section) {
		return ""
	}
	return fmt.Sprintf("systemd reads no section %q in %s%s", section, unit, source.Suggest(section, sections))
}

// standsFor is written for what an expression gives: it can be part of a value, and a line of its own.
const standsFor = "x=x"

var (
	optionName = regexp.MustCompile(`^[-.a-zA-Z0-9]+$`)
	// begun is a text of which the first section is written.
	begun = regexp.MustCompile(`\A(\s*[#;][^\n]*\n)*\s*\[`)
)

// checkUnitText judges the text of a unit or a drop-in; "" for one that systemd reads as a whole, as far as it is known.
func checkUnitText(unit string, v Value) string {
	text, computed := v.unitText()
	if computed && !begun.MatchString(text) {
		return "" // an expression may give the section
	}
	read, err := document.UnitOf(text)
	if err != nil {
		problem := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "reading a unit: "), ": "+document.ErrUnit.Error())
		return "is no text that systemd reads: " + problem
	}
	for _, section := range read.Sections() {
		if strings.Contains(section, standsFor) {
			continue
		}
		if problem := checkSection(unit, section); problem != "" {
			return problem
		}
		for _, option := range read.Options(section) {
			if !optionName.MatchString(option) {
				return fmt.Sprintf("is no text that systemd reads: %q in section %s is no name of an option", option, section)
			}
		}
	}
	return ""
}

// unitText is a text in which something stands for what is computed, and whether anything is.
func (v Value) unitText() (string, bool) {
	if constant, ok := v.Constant(); ok {
		return constant.Text(), false
	}
	if len(v.texts) == 0 {
		return "", true
	}
	return v.texts[0].With(standsFor), true
}

// isUnit finds what is wrong with the text of a unit or a drop-in at its place in the profile.
func isUnit(unit string, v Value, n source.Node, path string) source.Findings {
	if problem := checkUnitText(unit, v); problem != "" {
		return source.Findings{n.Finding(path, "%s", problem).Of(WrongUnit)}
	}
	return nil
}
