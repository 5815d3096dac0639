// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
)

// unitDirectory is where gardener-node-agent writes units and their drop-ins (gardener:
// pkg/nodeagent/controller/operatingsystemconfig/reconciler.go).
const unitDirectory = "/etc/systemd/system"

// laterUnit replaces the kubelet's unit in an OperatingSystemConfig without one. The files of a provisioning config
// remain on the node when Gardener adds the unit, which reads these files and this variable (gardener:
// pkg/component/extensions/operatingsystemconfig/original/components/kubelet/component.go).
const laterUnit = "[Service]\nEnvironmentFile=/etc/environment\nEnvironmentFile=-/var/lib/kubelet/extra_args\n" +
	"ExecStart=/opt/bin/kubelet $KUBELET_EXTRA_ARGS\n"

// protectKubelet compares the kubelet's parts of an OperatingSystemConfig. It fails if the unit or the configuration
// file is missing, or if the command that systemd runs changed in another way than by flags in the unit that are not
// Gardener's: units, drop-ins and environment files must not set the command, nor the variables in it. A rule that gives
// a reason may set reserved flags and these variables.
func protectKubelet(o *target.Object, exempt Exemption) error {
	before, after := o.Document.Original(), o.Document.Root()
	if kubeletUnitOf(before) != nil && kubeletUnitOf(after) == nil {
		return broken(kubeletUnit, "the unit is missing")
	}
	if kubeletFileOf(before) != nil && kubeletFileOf(after) == nil {
		return broken(kubeletFile, "the file is missing")
	}
	now, twice := listFiles(after)
	if twice != "" {
		return broken(nodeParts, "several units or files are written to %s", twice)
	}
	then, twiceBefore := listFiles(before)
	if twiceBefore == "" { // One of several files with one path can be unchanged and still take the place of another.
		markUnchanged(then, now)
	}
	is, err := readKubelet(now)
	if err != nil {
		return broken(kubeletUnit, "%s", err)
	}
	was, err := readKubelet(then)
	if err != nil {
		// An unreadable command line cannot have been edited.
		return nil //nolint:nilerr // only the result is checked
	}
	if old, fixed := was.command.Fixed(), is.command.Fixed(); !slices.Equal(old, fixed) {
		return broken(kubeletUnit, "the command without its flags is %q instead of %q", strings.Join(fixed, " "), strings.Join(old, " "))
	}
	if program := is.command.Program()[0]; replacesImage(fileAt(before, program), fileAt(after, program)) {
		return broken(kubeletUnit, "the program %s is not the one of an image", program)
	}
	if file, ok := firstDifference(was.commands(), is.commands()); ok {
		return broken(kubeletUnit, "%s sets the command or an alias of the unit, or has the name of another drop-in", file)
	}
	variables := was.command.Variables()
	old, oldUnknown := was.assignments(variables)
	set, unknown := is.assignments(variables)
	if file, ok := firstDifference(oldUnknown, unknown); ok {
		return broken(kubeletFlags, "the content of %s, which sets variables of the kubelet's command line, is not known; write it as text", file)
	}
	if file, ok := firstDifference(old, set); ok && !exempt(KubeletVariables) {
		return broken(kubeletFlags, "%s sets a variable of the kubelet's command line; edit the flags in the unit instead", file)
	}
	return checkKubeletFlags(was.command.Differences(&is.command.FlagList), exempt)
}

// checkKubeletFlags finds a reserved flag among those that have other values than before.
func checkKubeletFlags(changed []string, exempt Exemption) error {
	kubelet, _ := target.Lookup("kubelet")
	return checkFlags(kubelet, changed, false, exempt)
}

// KubeletVariables stands for the variables in the kubelet's command line where an Exemption expects a flag.
const KubeletVariables = "$"

// DefinesKubelet reports whether a file of a node can influence the kubelet command that systemd runs: a file of
// systemd, or one with variables for Gardener's unit. A profile with other environment files names them in the unit.
func DefinesKubelet(file string) bool {
	file = realPath(file)
	return strings.Contains(file, "/systemd/") || file == "/etc/environment" || file == "/var/lib/kubelet/extra_args"
}

// linked lists directories that are links to other directories in every distribution.
var linked = [...]struct{ link, directory string }{{"/lib/", "/usr/lib/"}, {"/var/run/", "/run/"}}

// realPath returns the path under which a file is found: without . and .., and without the links that every
// distribution has.
func realPath(name string) string {
	name = path.Clean(name)
	for _, l := range linked {
		if rest, ok := strings.CutPrefix(name, l.link); ok {
			return l.directory + rest
		}
	}
	return name
}

// nodeFile is a file that an OperatingSystemConfig has written to a node: one of its files, a unit or a drop-in.
type nodeFile struct {
	path    string
	content *document.Node
	// unchanged is true if the OperatingSystemConfig has the same file before and after the edits.
	unchanged bool
}

// compare compares the path of a file with another path.
func (f nodeFile) compare(other string) int { return strings.Compare(f.path, other) }

// markUnchanged marks the files that are the same before and after the edits.
func markUnchanged(was, is []nodeFile) {
	for i := range is {
		file := &is[i]
		j, ok := slices.BinarySearchFunc(was, file.path, nodeFile.compare)
		if ok && unedited(was[j].content, file.content) {
			file.unchanged, was[j].unchanged = true, true
		}
	}
}

// listFiles returns the files of one state of an object, sorted by their paths; of several files with one path the last
// one. It also returns the first path of several files, or "".
func listFiles(root *document.Node) (sorted []nodeFile, twice string) {
	written, units := root.Find("spec", "files").Items(), root.Find("spec", "units").Items()
	files := make([]nodeFile, 0, len(written)+2*len(units))
	for _, file := range written {
		files = append(files, nodeFile{path: realPath(text(file.Get("path"))), content: file.Get("content")})
	}
	for _, unit := range units {
		name := unitDirectory + "/" + text(unit.Get("name"))
		if content := unit.Get("content"); content != nil {
			files = append(files, nodeFile{path: realPath(name), content: content})
		}
		for _, dropIn := range unit.Get("dropIns").Items() {
			files = append(files, nodeFile{path: realPath(name + ".d/" + text(dropIn.Get("name"))), content: dropIn.Get("content")})
		}
	}
	slices.SortStableFunc(files, func(a, b nodeFile) int { return a.compare(b.path) })
	sorted = files[:0]
	for _, file := range files {
		if last := len(sorted) - 1; last >= 0 && sorted[last].path == file.path {
			sorted[last] = file
			twice = cmp.Or(twice, file.path)
			continue
		}
		sorted = append(sorted, file)
	}
	return sorted, twice
}

// kubeletService is what an OperatingSystemConfig defines of the kubelet's service.
type kubeletService struct {
	command *systemd.Command
	files   []nodeFile
	// parts are the unit, its drop-ins and the configuration of systemd, sorted by their paths.
	parts []servicePart
}

// servicePart is a part of the service.
type servicePart struct {
	path string
	unit *systemd.Unit
}

// compare compares the path of a part with another path.
func (p servicePart) compare(other string) int { return strings.Compare(p.path, other) }

// kubeletPath is the path of the kubelet's unit.
const kubeletPath = unitDirectory + "/" + target.KubeletUnit

// readKubelet reads the parts of the service. It fails if one of them is not known or not valid, or if the unit has not
// exactly one command.
func readKubelet(files []nodeFile) (*kubeletService, error) {
	i, ok := slices.BinarySearchFunc(files, kubeletPath, nodeFile.compare)
	content := laterUnit
	if ok && files[i].content != nil {
		if content, ok = target.ContentText(files[i].content); !ok {
			return nil, fmt.Errorf("%s: the content is not known", kubeletPath)
		}
	}
	service, err := systemd.ParseService(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeletPath, err)
	}
	s := &kubeletService{command: service.Command, files: files, parts: []servicePart{{kubeletPath, service.Unit}}}
	aliased := service.Unit.Values("Install", "Alias") != nil
	for _, file := range files {
		if file.path == kubeletPath || !definesService(file.path, aliased) {
			continue
		}
		part, err := readUnit(file.path, file.content)
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, servicePart{file.path, part})
	}
	slices.SortFunc(s.parts, func(a, b servicePart) int { return strings.Compare(a.path, b.path) })
	return s, nil
}

func readUnit(name string, content *document.Node) (*systemd.Unit, error) {
	text, ok := target.ContentText(content)
	if !ok {
		return nil, fmt.Errorf("the content of %s is not known", name)
	}
	unit, err := systemd.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return unit, nil
}

// definesService reports whether systemd reads a file for the kubelet's unit: another file of the unit, a drop-in of the
// unit or of all services, or its own configuration. With an alias, a drop-in of any unit may be one of the kubelet's.
func definesService(name string, aliased bool) bool {
	directory, file := path.Split(name)
	if !strings.Contains(directory, "/systemd/") {
		return false
	}
	switch of, isDropIn := strings.CutSuffix(path.Base(directory), ".d"); {
	case !isDropIn:
		return file == target.KubeletUnit || file == "system.conf"
	case !strings.HasSuffix(file, ".conf"):
		return false
	default:
		return aliased || of == target.KubeletUnit || of == "service" || of == "system.conf"
	}
}

// assignment is a setting in a file.
type assignment struct{ file, value string }

// firstDifference returns the file of the first difference between two lists, or false if they are equal.
func firstDifference(before, after []assignment) (string, bool) {
	for i := range max(len(before), len(after)) {
		switch {
		case i >= len(after):
			return before[i].file, true
		case i >= len(before) || before[i] != after[i]:
			return after[i].file, true
		}
	}
	return "", false
}

// commands returns the definitions outside of the unit's ExecStart that determine the command: other files of the unit,
// other commands, aliases, other units with the kubelet's name as an alias, and drop-ins with the name of another drop-in,
// because systemd ignores one of them.
func (s *kubeletService) commands() []assignment {
	var found []assignment
	names := make(map[string]bool, len(s.parts))
	for _, part := range s.parts {
		if part.path != kubeletPath {
			name := path.Base(part.path)
			if name == target.KubeletUnit || names[name] {
				found = append(found, assignment{part.path, part.unit.Text()})
			}
			names[name] = true
			for _, command := range part.unit.Values("Service", "ExecStart") {
				found = append(found, assignment{part.path, "ExecStart=" + command})
			}
		}
		for _, alias := range part.unit.Values("Install", "Alias") {
			found = append(found, assignment{part.path, "Alias=" + alias})
		}
	}
	for _, file := range s.files {
		// An unchanged file has the same aliases before and after the edits. It is a part in only one of the two states
		// if the kubelet's unit has an alias only there, which is a difference already.
		if file.unchanged || !strings.Contains(file.path, "/systemd/") {
			continue
		}
		if _, part := slices.BinarySearchFunc(s.parts, file.path, servicePart.compare); part {
			continue
		}
		for _, alias := range kubeletAliases(file.content) {
			found = append(found, assignment{file.path, "Alias=" + alias})
		}
	}
	return found
}

// kubeletAliases returns the aliases in another unit that may be the kubelet's name. gardener-node-agent writes the
// kubelet's unit to the file of an alias that it has enabled before. Of a text that is no valid unit, systemd reads the
// valid lines; the whole text is returned if it may have an alias.
func kubeletAliases(content *document.Node) []string {
	text, _ := target.ContentText(content)
	if !strings.Contains(text, "Alias") {
		return nil // Most units have none, and parsing them takes long.
	}
	unit, err := systemd.Parse(text)
	if err != nil {
		return []string{text}
	}
	var found []string
	for _, alias := range unit.Values("Install", "Alias") {
		words, err := systemd.Words(alias)
		if err != nil || slices.Contains(words, target.KubeletUnit) || strings.Contains(alias, "%") {
			found = append(found, alias)
		}
	}
	return found
}

// environmentOptions are the options of units and of systemd's configuration that set or remove variables.
var environmentOptions = []struct{ section, option string }{
	{"Service", "Environment"}, {"Service", "UnsetEnvironment"}, {"Service", "PassEnvironment"},
	{"Manager", "DefaultEnvironment"}, {"Manager", "ManagerEnvironment"},
}

// assignments returns the definitions that may set or remove one of the variables, and the environment files with
// unknown contents.
func (s *kubeletService) assignments(variables []string) (known, unknown []assignment) {
	if len(variables) == 0 {
		return nil, nil
	}
	for _, part := range s.parts {
		for _, o := range environmentOptions {
			for _, value := range part.unit.Values(o.section, o.option) {
				words, err := systemd.Words(value)
				if err != nil || value == "" { // it is not understood, or takes the other assignments back
					known = append(known, assignment{part.path, o.option + "=" + value})
				}
				for _, word := range words {
					name, _, _ := strings.Cut(word, "=")
					// A specifier other than %% may become any name, or an assignment.
					if slices.Contains(variables, name) || strings.Contains(strings.ReplaceAll(name, "%%", ""), "%") {
						known = append(known, assignment{part.path, o.option + "=" + word})
					}
				}
			}
		}
		for _, name := range part.unit.Values("Service", "PAMName") { // modules of PAM set any variables
			known = append(known, assignment{part.path, "PAMName=" + name})
		}
		for _, pattern := range part.unit.Values("Service", "EnvironmentFile") {
			if pattern == "" {
				known = append(known, assignment{part.path, "EnvironmentFile="})
			}
			for _, file := range s.files {
				if !matchesEnvironmentFile(strings.TrimPrefix(pattern, "-"), file.path) {
					continue
				}
				content, ok := target.ContentText(file.content)
				switch {
				case !ok:
					unknown = append(unknown, assignment{file.path, string(file.content.Raw())})
				case slices.ContainsFunc(variables, func(variable string) bool { return strings.Contains(content, variable) }):
					known = append(known, assignment{file.path, content})
				}
			}
		}
	}
	return known, unknown
}

// matchesEnvironmentFile reports whether a pattern in EnvironmentFile may match a file. Directories may be links, so that
// only the last part is compared. A pattern with brackets, escapes or specifiers may match any file.
func matchesEnvironmentFile(pattern, file string) bool {
	if strings.ContainsAny(pattern, `[\%`) {
		return true
	}
	pattern, file = path.Base(pattern), path.Base(file)
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == file
	}
	matched, _ := path.Match(pattern, file)
	return matched
}

// replacesImage reports whether a file has content of its own instead of an image's.
func replacesImage(was, is *document.Node) bool {
	return is != nil && is.Find("content", "imageRef") == nil && !equalBytes(was.Get("content"), is.Get("content"))
}

func kubeletUnitOf(root *document.Node) *document.Node {
	return root.Find("spec", "units").ItemWith("name", target.KubeletUnit).Get("content")
}

func kubeletFileOf(root *document.Node) *document.Node {
	return fileAt(root, target.KubeletConfigurationPath)
}

func fileAt(root *document.Node, name string) *document.Node {
	return root.Find("spec", "files").ItemWith("path", name)
}

func text(n *document.Node) string {
	text, _ := n.Text()
	return text
}
