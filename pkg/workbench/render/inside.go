// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Inside is a text that objects of a kind contain in a field, in another form than a string. Strings of several lines,
// such as the content of a unit, need no entry: they are always displayed as text.
type Inside struct {
	// Kind of the object.
	Kind string
	// Shape is the place of the field, with [] for an item of a list, such as spec.files[].content.inline.
	Shape string
	// Text is the text in the field; false means that the field is shown as it is.
	Text func(field *document.Node) (string, bool)
}

// known are all texts inside objects. To add one: one entry here.
var known = []Inside{
	// Gardener: pkg/apis/extensions/v1alpha1/types_operatingsystemconfig.go, FileContentInline.
	{Kind: "OperatingSystemConfig", Shape: "spec.files[].content.inline", Text: fileContent},
}

func insides(kind string) []Inside {
	var found []Inside
	for _, inside := range known {
		if inside.Kind == kind {
			found = append(found, inside)
		}
	}
	return found
}

func textInside(all []Inside, shape string, n *document.Node) (string, bool) {
	for _, inside := range all {
		if inside.Shape == shape {
			return inside.Text(n)
		}
	}
	return "", false
}

// fileContent reads the content of a file, which is plain or in base64.
func fileContent(n *document.Node) (string, bool) {
	data, ok := n.Get("data").Text()
	if !ok {
		return "", false
	}
	if encoding, _ := n.Get("encoding").Text(); encoding == "b64" {
		decoded, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return "", false
		}
		data = string(decoded)
	}
	return data, isText(data)
}
