// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// stay says how to look further, and waits for Ctrl-C or for the extension to end on its own, which is an error.
func (s *show) stay(ctx context.Context) error {
	s.terminal.line("\n%s", s.advice())
	select {
	case <-ctx.Done():
		s.terminal.line("\nStopping the extension, kube-apiserver and etcd.")
		return nil
	case <-s.extension.exited:
		return fmt.Errorf("the extension ended with %s; its log %s ends with:\n%s",
			s.extension.command.ProcessState, near(s.extension.log), s.extension.lastLines(15))
	}
}

// advice are commands that work as they stand.
func (s *show) advice() string {
	var (
		kubectl = fmt.Sprintf("%s --kubeconfig %s", near(s.landscape.Kubectl()), s.landscape.Kubeconfig())
		inside  = kubectl + " -n " + s.stage.namespace.Name
		title   = s.terminal.bold
		files   []string
	)
	for _, path := range s.options.profiles {
		files = append(files, near(path))
	}
	lines := []string{
		title("It stays up until Ctrl-C.") + " To look further, in another terminal:",
		"",
		"  " + inside + " get deployments,etcds,services",
		"  " + inside + " get " + s.example() + " -o yaml",
		"  " + kubectl + " get mutatingwebhookconfigurations " + extensionName + " -o yaml",
		"",
		title("To see a rule at work,") + " edit " + strings.Join(files, " or ") + ": the extension reads it again within a second",
		"and says so in its log. Then let an object be admitted anew, and look at it:",
		"",
		"  tail -f " + near(s.extension.log),
		"  " + inside + " annotate --overwrite " + s.example() + " seen=$(date +%s)",
		"",
		"Every request that wrote something, with the patch of the webhook, is in " + near(filepath.Join(s.folder, "audit.log")) + ".",
	}
	return strings.Join(lines, "\n")
}

// example is an object that was changed, as kubectl calls it.
func (s *show) example() string {
	for _, one := range s.subjects {
		if one.touched {
			return strings.ToLower(one.change.Kind) + "/" + one.change.Name
		}
	}
	return "deployment/kube-apiserver"
}
