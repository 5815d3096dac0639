// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline_test

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
)

// Flags are found in command and args, keep their place and form, and merge by key.
func ExampleCommandLineOf() {
	container, err := document.Parse([]byte(`{"command":["/server"],"args":["--feature-gates","A=true","--v=2"]}`))
	if err != nil {
		panic(err)
	}
	line, err := commandline.CommandLineOf(container.Root())
	if err != nil {
		panic(err)
	}
	gates, err := commandline.MapValue(line.Values("feature-gates")[0]).Set("B", "false")
	if err != nil {
		panic(err)
	}
	for range 2 { // The second time it is so already.
		if err := line.Set("feature-gates", string(gates)); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%s\n%s\n", container.Bytes(), container.Patch())
	// Output:
	// {"command":["/server"],"args":["--feature-gates","A=true,B=false","--v=2"]}
	// [{"op":"replace","path":"/args/1","value":"A=true,B=false"}]
}
