// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// KubeletTexts are the two texts of the kubelet as they stand in an OperatingSystemConfig, as JSON: the content of its unit, and the inline content
// of its configuration file. What is not there, or was not asked for, is nil.
type KubeletTexts struct{ Unit, Configuration []byte }

// KubeletEdit is what edits made of the two texts, for an object that has the same.
type KubeletEdit struct {
	// unit and data are the strings of the unit's content and of the file's data; without one, the text stayed as it was.
	unit, data document.Literal
}

// Bytes is how long the texts are.
func (e KubeletEdit) Bytes() int { return len(e.unit.Raw()) + len(e.data.Raw()) }

// KubeletTexts are the texts as they stand in the object after Flush, the configuration only if it is asked for. No node is opened that reading the
// texts would not open, too.
func (o *Object) KubeletTexts(configuration bool) KubeletTexts {
	texts := KubeletTexts{Unit: o.kubeletUnit().Raw()}
	if configuration {
		texts.Configuration = o.kubeletInline().Raw()
	}
	return texts
}

func (o *Object) kubeletUnit() *document.Node {
	return o.Document.Root().Find("spec", "units").ItemWith("name", KubeletUnit).Get("content")
}

func (o *Object) kubeletInline() *document.Node {
	return o.File(KubeletConfigurationPath).Find("content", "inline")
}

// KubeletEdit is what was made of the texts through CommandLine, Unit and KubeletConfiguration since they were taken, and was flushed, as a copy; false
// where that cannot be told.
func (o *Object) KubeletEdit(since KubeletTexts) (KubeletEdit, bool) {
	var edit KubeletEdit
	if now, ok := o.kubeletUnit().Literal(); !ok || since.Unit == nil {
		return edit, false
	} else if !bytes.Equal(now.Raw(), since.Unit) {
		edit.unit = now.Clone()
	}
	if since.Configuration == nil {
		return edit, true
	}
	inline := o.kubeletInline()
	if bytes.Equal(inline.Raw(), since.Configuration) {
		return edit, true
	}
	data, ok := inline.Get("data").Literal()
	edit.data = data.Clone()
	return edit, ok
}

// EditKubelet makes an edit of an object that has the texts of which it was made.
func (o *Object) EditKubelet(edit KubeletEdit) error {
	if edit.data.Raw() != nil {
		if err := o.kubeletInline().Get("data").ReplaceLiteral(edit.data); err != nil {
			return fmt.Errorf("writing file %s: %w", KubeletConfigurationPath, err)
		}
	}
	if edit.unit.Raw() == nil {
		return nil
	}
	if err := o.kubeletUnit().ReplaceLiteral(edit.unit); err != nil {
		return fmt.Errorf("writing unit %s: %w", KubeletUnit, err)
	}
	return nil
}
