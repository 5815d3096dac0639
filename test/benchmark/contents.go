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

// contents is the number of kubelet configurations that alternate in the row with changing content, and level the flag
// of the kubelet's unit with another value in each request.
const (
	contents = 256
	level    = "--v="
)

// anotherEachTime returns the row of Graft's edits in which each OperatingSystemConfig has a new kubelet unit and a new
// kubelet configuration. A cache of parsed contents does not help there.
func (g group) anotherEachTime(ctx context.Context, s server, folder string) (*row, error) {
	raw, err := os.ReadFile(filepath.Join(folder, g.file))
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	r := &row{name: g.paths[0].name + ", " + g.name + ", edits, another content each time", path: g.paths[0].path,
		patches: true}
	for i := range contents {
		object, err := otherContent(raw, i)
		if err != nil {
			return nil, err
		}
		if r.body, _, err = g.reviews(ctx, s, object, g.paths[0]); err != nil {
			return nil, err
		}
		r.others = append(r.others, otherOf(r.body))
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
	changed := strings.Replace(text, "--v=2", fmt.Sprintf("%s%09d", level, number), 1)
	if err := unit.Replace(document.Quote(changed)); err != nil {
		return nil, err
	}
	content, err := document.ContentOf(spec.Get("files").ItemWith("path",
		"/var/lib/kubelet/config/kubelet").Find("content", "inline"))
	if err != nil {
		return nil, err
	}
	err = content.SetText(bytes.Replace(content.Text(), []byte("maxPods: 110"), fmt.Appendf(nil, "maxPods: %d", number),
		1))
	return d.Bytes(), err
}

// next returns the body of a request. The body is in the buffer if it is one of the others.
func (r *row) next(buffer *[]byte) []byte {
	if len(r.others) == 0 {
		return r.body
	}
	number := r.sent.Add(1)
	other := r.others[number%int64(len(r.others))]
	*buffer = append((*buffer)[:0], other.body...)
	for _, at := range other.levels {
		copy((*buffer)[at:], fmt.Appendf(nil, "%09d", number))
	}
	return *buffer
}

// other is a review with the offsets of the values of the flag level, in the object and in the old object.
type other struct {
	body   []byte
	levels []int
}

func otherOf(body []byte) other {
	o := other{body: body}
	for from := 0; ; {
		at := bytes.Index(body[from:], []byte(level))
		if at < 0 {
			return o
		}
		from += at + len(level)
		o.levels = append(o.levels, from)
	}
}
