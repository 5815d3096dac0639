// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command interpreter shows what graft-resource-interpreter does: it runs the program with a certificate that it issues itself, asks it
// over TLS what Karmada asks about a Worker, an Etcd and a kind that only a profile knows, and compares each answer with a file.
// `make start-interpreter` builds what it needs and runs it.
//
// It is a demonstration and a check of a checkout; nothing of it is part of the product. Enter at show.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/demo"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const (
	// objects is the folder with the objects and the expected answers.
	objects = "hack/start/interpreter/objects/"
	own     = "example/interpreter/objects/database.yaml"
)

// subject is an object with the questions about it.
type subject struct {
	title string
	// name is that of the files, file the object of the control plane.
	name, file string
	// questions are flags of `graft interpret` for the object of the control plane. That of a member is asked for health and status.
	questions []string
}

var subjects = []subject{
	{"A Worker as gardenlet writes it, and what an extension in a member has made of it", "worker", objects + "worker.yaml",
		[]string{"--operation", "dependencies,retain,aggregate"}},
	{"An Etcd as gardenlet writes it, and its status from etcd-druid in a member", "etcd", objects + "etcd.yaml",
		[]string{"--operation", "replicas,revise,dependencies,aggregate", "--replicas", "0"}},
	{"A kind that only the profile knows", "database", own,
		[]string{"--operation", "replicas,revise,dependencies,retain,aggregate", "--replicas", "4"}},
}

// path returns the path of one of the subject's files.
func (s subject) path(what string) string { return objects + s.name + "." + what + ".yaml" }

func main() {
	set := flag.NewFlagSet("interpreter", flag.ContinueOnError)
	program := set.String("program", "bin/graft-resource-interpreter", "the program that is shown")
	profile := set.String("profile", "example/interpreter/profile.yaml", "the profile that is served, with those of Gardener's kinds")
	update := set.Bool("update", false, "write the expected answers")
	demo.Main(set, func(ctx context.Context, d *demo.Demo) error { return show(ctx, d, *program, *profile, *update) })
}

// show runs all steps.
func show(ctx context.Context, d *demo.Demo, program, profile string, update bool) error {
	folder := filepath.Join(d.Folder, "certificate")
	authority := filepath.Join(folder, "ca.crt")
	process, err := env.Start(&env.Log{}, nil, program, "--profiles", profile, "--certificate-folder", folder,
		"--listen", "127.0.0.1:0", "--metrics-address", "0", "--log-format", "text")
	if err != nil {
		return err
	}
	defer func() { _ = process.Stop() }()
	var url string
	err = d.Phase("graft-resource-interpreter, until it listens", func() error {
		return process.Await(ctx, func(context.Context) (err error) {
			url, err = urlIn(process.Log.String())
			return err
		})
	})
	if err != nil {
		return err
	}
	d.Title("The webhook configuration for Karmada")
	line := []string{demo.Graft, "interpreter", "webhook", "-p", profile, "--url", url, "--ca", authority}
	if _, err := d.Command(ctx, line); err != nil {
		return err
	}
	for _, s := range subjects {
		if err := s.show(ctx, d, []string{"--url", url, "--ca", authority}, update); err != nil {
			return err
		}
	}
	return d.Stay(ctx, process, fmt.Sprintf("Change %s, and ask again:\n\n    %s interpreter ask %s --url %s --ca %s", profile, demo.Graft, own, url, authority))
}

// show asks the program about the objects, as Karmada does, and compares the answers.
func (s subject) show(ctx context.Context, d *demo.Demo, webhook []string, update bool) error {
	d.Title("%s", s.title)
	ask := []string{demo.Graft, "interpreter", "ask", s.file, "--members", s.path("members"), "--observed", s.path("member")}
	member := []string{demo.Graft, "interpreter", "ask", s.path("member"), "--operation", "health,status"}
	var got []any
	for _, line := range [][]string{slices.Concat(ask, s.questions, webhook), append(member, webhook...)} {
		if _, err := d.Command(ctx, line); err != nil {
			return err
		}
		answers, err := demo.Output(ctx, append(line, "-o", "json"))
		if err != nil {
			return err
		}
		var document any
		if err := json.Unmarshal([]byte(answers), &document); err != nil {
			return fmt.Errorf("reading the answers: %w", err)
		}
		got = append(got, document)
	}
	return compare(s.path("answers"), got, update)
}

// compare compares answers with those of a file, or writes them.
func compare(path string, got []any, update bool) error {
	if update {
		text, err := yaml.Marshal(got)
		if err != nil {
			return fmt.Errorf("encoding the answers: %w", err)
		}
		head := "# SPDX-FileCopyrightText: The Graft authors\n#\n# SPDX-License-Identifier: Apache-2.0\n\n"
		return os.WriteFile(path, append([]byte(head), text...), 0o644)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the expected answers: %w", err)
	}
	var want []any
	if err := yaml.Unmarshal(text, &want); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the answers are not those of %s (-want +got):\n%s", path, diff)
	}
	return nil
}

// listening matches the log line of a program that listens, with the address.
var listening = regexp.MustCompile(`Listening\s.*"address": "([^"]+)"`)

// urlIn returns the URL of a program from its log.
func urlIn(log string) (string, error) {
	found := listening.FindStringSubmatch(log)
	if found == nil {
		return "", errors.New("it does not listen yet")
	}
	return "https://" + found[1], nil
}
