// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// ask has the question about an object in a case.yaml.
type ask struct {
	Object string
}

// telltales are parts of the content of the Secret in plane.yaml.
var telltales = []string{"hunter2", "aHVudGVy", "eu-1-secret", "ZXUtMS1zZWNyZXQ"}

// TestObjects checks the explanations of the objects in testdata/objects/plane.yaml under the profile of each folder,
// in 80 columns. No line is longer, and none shows a Secret.
func TestObjects(t *testing.T) {
	folders, err := filepath.Glob("testdata/objects/*/case.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	plane := readPlane(t)
	for _, path := range folders {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var c struct{ Ask []ask }
			if err := yaml.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			program := golden.Compile(t, compiler.Options{}, filepath.Join(folder, "profile.yaml"))
			var text, all bytes.Buffer
			for _, a := range c.Ask {
				fmt.Fprintf(&text, "$ graft explain %s\n", a.Object)
				object, err := answer(program, plane, a)
				if err != nil {
					fmt.Fprintf(&text, "%s\n\n", err)
					continue
				}
				style := explain.TextStyle{Width: 80, File: filepath.Base}
				if err := errors.Join(object.Write(&text, style), json.NewEncoder(&all).Encode(object)); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&text)
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), text.String())
			readable(t, text.String())
			for _, telltale := range telltales {
				if strings.Contains(text.String()+all.String(), telltale) {
					t.Errorf("%s is shown", telltale)
				}
			}
		})
	}
}

func readPlane(t *testing.T) *snapshot.Snapshot {
	t.Helper()
	objects, err := manifest.Read([]string{"testdata/objects/plane.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := snapshot.Build(context.Background(), snapshot.Input{Objects: objects}, nil)
	if err != nil || len(snapshots) != 1 {
		t.Fatalf("%d snapshots: %v", len(snapshots), err)
	}
	return snapshots[0]
}

func answer(program *mutation.Program, plane *snapshot.Snapshot, a ask) (*explain.Explanation, error) {
	named, err := explain.Find(plane.Objects, a.Object)
	if err != nil {
		return nil, err
	}
	return explain.Of(context.Background(), program, named.JSON, plane.Admission(plane.Old[snapshot.OldKey(named)]), plane.Source())
}

func readable(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 && !strings.HasPrefix(line, "$") && strings.HasPrefix(line, " ") {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}
