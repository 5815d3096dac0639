// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package yamledit_test

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/yamledit"
)

// A file's content is decoded, edited as YAML, and encoded as it was.
func ExampleParse() {
	file, err := document.Parse([]byte(`{"encoding":"b64","data":"ZmFpbFN3YXBPbjogdHJ1ZSAjIGZvciBub3cKYTogMS41MAo="}`))
	if err != nil {
		panic(err)
	}
	content, err := document.ContentOf(file.Root())
	if err != nil {
		panic(err)
	}
	config, err := yamledit.Parse(content.Text())
	if err != nil {
		panic(err)
	}
	if err := config.Set([]byte(`false`), "failSwapOn"); err != nil {
		panic(err)
	}
	if err := config.Merge([]byte(`{"NodeSwap":true}`), "featureGates"); err != nil {
		panic(err)
	}
	if err := content.SetText(config.Text()); err != nil {
		panic(err)
	}
	fmt.Printf("%s%s\n", content.Text(), file.Patch())
	// Output:
	// failSwapOn: false # for now
	// a: 1.50
	// featureGates:
	//   NodeSwap: true
	// [{"op":"replace","path":"/data","value":"ZmFpbFN3YXBPbjogZmFsc2UgIyBmb3Igbm93CmE6IDEuNTAKZmVhdHVyZUdhdGVzOgogIE5vZGVTd2FwOiB0cnVlCg=="}]
}
