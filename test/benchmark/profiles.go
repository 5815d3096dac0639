// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// rulesOf is the number of rules for the kube-apiserver in the profile "sixty", and profilesOf the number of profiles
// in the rows with many profiles.
const (
	rulesOf    = 60
	profilesOf = 50
)

// variant reads the profile cluster.yaml with another name and provider, and adds rules for the kube-apiserver with
// conditions that are false.
type variant struct {
	folder string
	names  []string
	rules  int
}

var _ webhook.ProfileReader = variant{}

// Read implements webhook.ProfileReader.
func (v variant) Read(context.Context) ([]source.File, error) {
	raw, err := os.ReadFile(filepath.Join(v.folder, "profiles", "cluster.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	const end = "  kubelet:\n"
	if bytes.Count(raw, []byte(end)) != 1 {
		return nil, fmt.Errorf("the profile has not one line %q", end)
	}
	raw = bytes.Replace(raw, []byte(end), append(moreRules(v.rules), end...), 1)
	var files []source.File
	for _, name := range v.names {
		named := bytes.Replace(raw, []byte("{name: cluster}"), []byte("{name: "+name+"}"), 1)
		named = bytes.Replace(named, []byte("[cluster]"), []byte("["+name+"]"), 1)
		files = append(files, source.File{Name: name, Data: named})
	}
	return files, nil
}

// moreRules returns rules that a provider needs for other versions, regions and sizes of shoots.
func moreRules(count int) []byte {
	conditions := []string{
		`shoot.kubernetes.satisfies("< 1.28")`,
		`shoot.region == "region-9"`,
		`cloudProfile.type != shoot.provider`,
		`shoot.kubernetes.satisfies(">= 1.40") && shoot.region.startsWith("north-")`,
	}
	operations := []string{"flags: {set: {v: %d}}", "env: {set: {SIZE: %d}}",
		"podAnnotations: {set: {cloud.example.com/size: %d}}"}
	var out bytes.Buffer
	for i := range count {
		fmt.Fprintf(&out, "  - "+operations[i%len(operations)]+"\n    when: ${ %s }\n", i, conditions[i%len(conditions)])
	}
	return out.Bytes()
}

// many returns the names of the profiles next to "cluster".
func many() []string {
	names := []string{"cluster"}
	for i := range profilesOf - 1 {
		names = append(names, fmt.Sprintf("other-%02d", i))
	}
	return names
}
