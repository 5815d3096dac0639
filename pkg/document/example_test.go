// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// An edit deep inside a review becomes a patch of the object, and nothing else of the object moves.
func Example() {
	review, err := document.Parse([]byte(`{"request": {"object": {"spec": {"replicas": 1, "unknown": 1.50}}}}`))
	if err != nil {
		panic(err)
	}
	object := review.Root().Find("request", "object").Document()
	if _, err := object.Root().Get("spec").Set("replicas", []byte(`2`)); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n%s\n", object.Patch(), object.Bytes())
	// Output:
	// [{"op":"replace","path":"/spec/replicas","value":2}]
	// {"spec": {"replicas": 2, "unknown": 1.50}}
}

// Flags are found in command and args, keep their place and form, and merge by key.
func ExampleCommandLineOf() {
	container, err := document.Parse([]byte(`{"command":["/server"],"args":["--feature-gates","A=true","--v=2"]}`))
	if err != nil {
		panic(err)
	}
	line, err := document.CommandLineOf(container.Root())
	if err != nil {
		panic(err)
	}
	gates, err := document.MapValue(line.Values("feature-gates")[0]).Set("B", "false")
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

// A flag goes behind the last one, on a line of its own like the others; comments and everything else stay.
func ExampleUnit_Command() {
	unit, err := document.UnitOf("[Service]\n# starts the kubelet\nExecStart=/opt/bin/kubelet \\\n    --v=2 $KUBELET_EXTRA_ARGS\n")
	if err != nil {
		panic(err)
	}
	command, err := unit.Command("Service", "ExecStart")
	if err != nil {
		panic(err)
	}
	if err := command.Set("cloud-provider", "external"); err != nil {
		panic(err)
	}
	fmt.Print(unit.Text())
	// Output:
	// [Service]
	// # starts the kubelet
	// ExecStart=/opt/bin/kubelet \
	//     --v=2 \
	//     --cloud-provider=external $KUBELET_EXTRA_ARGS
}
