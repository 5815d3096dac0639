// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command program is the program in the images of tests.
package main

import (
	"fmt"
	"os"
)

var version, commit string

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("program", version, commit)
	}
}
