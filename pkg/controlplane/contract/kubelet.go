// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// protectKubelet compares what an OperatingSystemConfig says about the kubelet: that the unit and the configuration file are
// there, that the command line is one, and the flags that are Gardener's.
func protectKubelet(o *target.Object, exempt Exemption) error {
	before, after := o.Document.Original(), o.Document.Root()
	was, is := kubeletUnitOf(before), kubeletUnitOf(after)
	if was != nil && is == nil {
		return broken(kubeletUnit, "the unit is gone")
	}
	if kubeletFileOf(before) != nil && kubeletFileOf(after) == nil {
		return broken(kubeletFile, "the file is gone")
	}
	if same(was, is) {
		return nil
	}
	kubelet, _ := target.Lookup("kubelet")
	if changed, ok := o.ChangedKubeletFlags(was.Raw(), is.Raw()); ok {
		return checkFlags(kubelet, changed, false, exempt)
	}
	old, err := kubeletCommand(was)
	if err != nil || old == nil {
		// What was not readable before cannot have been edited as a command line.
		return nil //nolint:nilerr // the result is what counts
	}
	now, err := kubeletCommand(is)
	if err != nil {
		return broken(kubeletUnit, "%s", err)
	}
	if now == nil {
		return broken(kubeletUnit, "its content is no text")
	}
	return checkFlags(kubelet, old.Differences(&now.FlagList), false, exempt)
}

func kubeletUnitOf(root *document.Node) *document.Node {
	return root.Find("spec", "units").ItemWith("name", target.KubeletUnit).Get("content")
}

func kubeletFileOf(root *document.Node) *document.Node {
	return root.Find("spec", "files").ItemWith("path", target.KubeletConfigurationPath)
}

func kubeletCommand(content *document.Node) (*document.UnitCommand, error) {
	text, ok := content.Text()
	if !ok {
		return nil, nil
	}
	unit, err := document.UnitOf(text)
	if err != nil {
		return nil, err
	}
	return unit.Command("Service", "ExecStart")
}
