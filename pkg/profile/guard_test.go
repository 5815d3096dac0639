// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestGuard checks that a panic becomes an error with the names of the files, that its stack is logged, and that no
// content of the files is shown.
func TestGuard(t *testing.T) {
	refused := errors.New("refused")
	build := func(files []source.File) (int, error) {
		all := bytes.Buffer{}
		for _, file := range files {
			all.Write(file.Data)
		}
		switch text := all.String(); {
		case strings.Contains(text, "index"):
			beyond := len(files)
			return 0, fmt.Errorf("not reached: %d", files[beyond].Name[0])
		case strings.Contains(text, "secret"), strings.Contains(text, "one") && strings.Contains(text, "two"):
			panic(text)
		case strings.Contains(text, "refused"):
			return 0, refused
		}
		return len(files), nil
	}
	tests := map[string]struct {
		texts []string
		want  string
		stack bool
	}{
		"nothing to load":              {nil, "0", false},
		"documents without an error":   {[]string{"a", "b"}, "2", false},
		"a document with an error":     {[]string{"a", "refused"}, "refused", false},
		"a panic in one document":      {[]string{"a", "index", "b"}, "1: loading panicked, which is a bug: runtime error: index out of range [3] with length 3", true},
		"a panic in several documents": {[]string{"secret", "b", "index"}, "0, 2: loading panicked, which is a bug: runtime error: index out of range [3] with length 3", true},
		"a panic with a value":         {[]string{"a secret"}, "0: loading panicked, which is a bug: a value of the type string", true},
		"of two together":              {[]string{"one", "two"}, "0, 1: loading panicked, which is a bug: a value of the type string", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var files []source.File
			for i, text := range test.texts {
				files = append(files, source.File{Name: fmt.Sprint(i), Data: []byte(text)})
			}
			count, err := profile.Guard(files, build)
			got := fmt.Sprint(count)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			var log strings.Builder
			profile.LogPanic(funcr.New(func(_, line string) { log.WriteString(line) }, funcr.Options{}), err)
			if stack := strings.Contains(log.String(), "guard_test.go"); stack != test.stack || !stack && log.Len() > 0 {
				t.Errorf("the log is %s", log.String())
			}
		})
	}
}
