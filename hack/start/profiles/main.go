// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command profiles finds what is wrong with the profiles that `make start` is to show, before anything else is built for it: it links
// the engine and nothing of Gardener. It takes the arguments of start and understands those that name profiles. Its exit status is 1
// where a profile is wrong or not there, and it says nothing where all is well. Enter at run.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(arguments []string, out io.Writer) int {
	paths := named(arguments)
	if len(paths) == 0 {
		return 0
	}
	if err := check(paths); err != nil {
		fmt.Fprintln(out, "start:", err)
		return 1
	}
	return 0
}

// named are the values of -profile. None are checked where the arguments ask for help, and none where the default is shown, which tests
// compile.
func named(arguments []string) []string {
	var paths []string
	for i, argument := range arguments {
		name, value, assigned := strings.Cut(argument, "=")
		switch name = strings.TrimLeft(name, "-"); {
		case slices.Contains([]string{"h", "help"}, name) && strings.HasPrefix(argument, "-"):
			return nil
		case name != "profile" || !strings.HasPrefix(argument, "-"):
		case assigned:
			paths = append(paths, value)
		case i+1 < len(arguments):
			paths = append(paths, arguments[i+1])
		}
	}
	return paths
}

func check(paths []string) error {
	files, err := folder.Read(paths...)
	if err != nil {
		return err
	}
	documents, findings := profile.Load(files...)
	if err = findings.Err(); err == nil {
		_, err = mutation.Compile(documents, mutation.Options{Mark: true})
	}
	switch {
	case err != nil:
		return fmt.Errorf("the profiles are wrong:\n%w", err)
	case len(documents) == 0:
		return errors.New("no profile was found: give a file or a folder with -profile")
	}
	return nil
}
