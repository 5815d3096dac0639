// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
)

// A new flag gets its own line after the last one. Comments and all other lines stay.
func ExampleUnit_Command() {
	unit, err := systemd.Parse("[Service]\n# starts the kubelet\nExecStart=/opt/bin/kubelet \\\n    --v=2 $KUBELET_EXTRA_ARGS\n")
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
