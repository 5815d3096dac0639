// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// TestWarn checks that the logger of the programs logs warnings as such, and that another logger loses none.
func TestWarn(t *testing.T) {
	t.Run("the logger of a program", func(t *testing.T) {
		var out bytes.Buffer
		log, err := program.Start("test", "v1", configv1alpha1.Logging{Level: "info", Format: "json"}, configv1alpha1.Debugging{}, &out)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		serving.Warn(log.WithName("profiles"), "A profile has a warning", "warning", "p.yaml:1")
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", &out, err)
		}
		delete(line, "ts")
		want := map[string]any{"level": "warn", "logger": "profiles", "msg": "A profile has a warning", "warning": "p.yaml:1"}
		if diff := cmp.Diff(want, line); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
	t.Run("another logger", func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		serving.Warn(log, "message", "key", 1)
		if diff := cmp.Diff([]string{`"level"=0 "msg"="message" "key"=1`}, lines); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
}
