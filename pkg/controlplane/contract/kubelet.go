// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
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
// file is missing, or if systemd would run another command or other values of Gardener's flags, whichever units,
// drop-ins and files define them.
func protectKubelet(o *target.Object, exempt Exemption, known *systemd.ServiceCache) error {
	before, after := o.Document.Original(), o.Document.Root()
	if kubeletUnitOf(before) != nil && kubeletUnitOf(after) == nil {
		return broken(kubeletUnit, "the unit is missing")
	}
	if kubeletFileOf(before) != nil && kubeletFileOf(after) == nil {
		return broken(kubeletFile, "the file is missing")
	}
	files := nodeFiles(after)
	if twice := writtenTwice(files[1:]); twice != "" {
		return broken(nodeParts, "several units or files are written to %s", twice)
	}
	is, err := known.EffectiveService(target.KubeletUnit, files)
	if err != nil {
		return broken(kubeletUnit, "%s", err)
	}
	was, err := known.EffectiveService(target.KubeletUnit, nodeFiles(before))
	if err != nil {
		// An unreadable command line cannot have been edited.
		return nil //nolint:nilerr // only the result is checked
	}
	if !slices.Equal(was.Program(), is.Program()) {
		return broken(kubeletUnit, "the program is %q instead of %q", strings.Join(is.Program(), " "), strings.Join(was.Program(), " "))
	}
	if program := is.Program()[0]; replacesImage(fileAt(before, program), fileAt(after, program)) {
		return broken(kubeletUnit, "the program %s is not the one of an image", program)
	}
	for _, file := range is.Unknown {
		if !equalBytes(fileAt(before, file), fileAt(after, file)) {
			return broken(kubeletFlags, "the content of %s, which sets variables of the kubelet's command line, is not known; write it as text", file)
		}
	}
	kubelet, _ := target.Lookup("kubelet")
	return checkFlags(kubelet, was.Differences(is), false, exempt)
}

// DefinesKubelet reports whether a file of a node can influence the kubelet command that systemd runs: a file of
// systemd, or one with variables for Gardener's unit. A profile with other environment files names them in the unit.
func DefinesKubelet(file string) bool {
	file = systemd.RealPath(file)
	return strings.Contains(file, "/systemd/") || file == "/etc/environment" || file == "/var/lib/kubelet/extra_args"
}

// nodeFiles returns all files that an OperatingSystemConfig has written to a node: its files, units and drop-ins. The
// first one is laterUnit, which a unit of the OperatingSystemConfig replaces.
func nodeFiles(root *document.Node) []systemd.NodeFile {
	written, units := root.Find("spec", "files").Items(), root.Find("spec", "units").Items()
	files := make([]systemd.NodeFile, 0, 1+len(written)+2*len(units))
	files = append(files, systemd.NodeFile{Path: unitDirectory + "/" + target.KubeletUnit, Content: systemd.Text(laterUnit)})
	for _, file := range written {
		files = append(files, systemd.NodeFile{Path: text(file.Get("path")), Content: (*inlineFile)(file)})
	}
	for _, unit := range units {
		at := unitDirectory + "/" + text(unit.Get("name"))
		if content := unit.Get("content"); content != nil {
			files = append(files, systemd.NodeFile{Path: at, Content: content})
		}
		for _, dropIn := range unit.Get("dropIns").Items() {
			files = append(files, systemd.NodeFile{Path: at + ".d/" + text(dropIn.Get("name")), Content: dropIn.Get("content")})
		}
	}
	return files
}

// inlineFile is a file in an OperatingSystemConfig.
type inlineFile document.Node

// Text returns the decoded content, or false if it is not inline.
func (f *inlineFile) Text() (string, bool) {
	content, err := document.ContentOf((*document.Node)(f).Find("content", "inline"))
	if err != nil {
		return "", false
	}
	return string(content.Text()), true
}

// writtenTwice returns the first path of several files, or "".
func writtenTwice(files []systemd.NodeFile) string {
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		at := systemd.RealPath(file.Path)
		if seen[at] {
			return at
		}
		seen[at] = true
	}
	return ""
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
