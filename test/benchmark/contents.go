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
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// contents is how many configurations of the kubelet take turns in the row in which the content is another one each time, and level the flag in the
// kubelet's unit that has another value in each request.
const (
	contents = 256
	level    = "--v="
)

// anotherEachTime is the row of Graft's edits for OperatingSystemConfigs of which each has another kubelet's unit, and another
// configuration, than those before. An implementation that remembers what it has read gains nothing there.
func (g group) anotherEachTime(ctx context.Context, s server, folder string) (*row, error) {
	raw, err := os.ReadFile(filepath.Join(folder, g.file))
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	r := &row{name: g.paths[0].name + ", " + g.name + ", edits, another content each time", path: g.paths[0].path, patches: true}
	for i := range contents {
		object, err := otherContent(raw, i)
		if err != nil {
			return nil, err
		}
		if r.body, _, err = g.reviews(ctx, s, object, g.paths[0]); err != nil {
			return nil, err
		}
		r.others = append(r.others, r.body)
	}
	return r, nil
}

// otherContent changes a flag in the kubelet's unit and a field in its configuration.
func otherContent(raw []byte, number int) ([]byte, error) {
	d, err := document.Parse(raw)
	if err != nil {
		return nil, err
	}
	spec := d.Root().Get("spec")
	unit := spec.Get("units").ItemWith("name", "kubelet.service").Get("content")
	text, _ := unit.Text()
	if err := unit.ReplaceText(strings.Replace(text, "--v=2", fmt.Sprintf("%s%09d", level, number), 1)); err != nil {
		return nil, err
	}
	content, err := document.ContentOf(spec.Get("files").ItemWith("path", "/var/lib/kubelet/config/kubelet").Find("content", "inline"))
	if err != nil {
		return nil, err
	}
	err = content.SetText(bytes.Replace(content.Text(), []byte("maxPods: 110"), fmt.Appendf(nil, "maxPods: %d", number), 1))
	return d.Bytes(), err
}

// next is the body of a request.
func (r *row) next() []byte {
	if len(r.others) == 0 {
		return r.body
	}
	number := r.sent.Add(1)
	body := bytes.Clone(r.others[number%int64(len(r.others))])
	value := fmt.Appendf(nil, "%s%09d", level, number)
	for from, rest := 0, body; ; rest = body[from:] { // in the object and in the old one
		at := bytes.Index(rest, value[:len(level)])
		if at < 0 {
			return body
		}
		from += at + copy(rest[at:], value)
	}
}
