// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Operations are the RFC 6902 patch from the object as it came to the object as it is, without what the API server alone
// writes. What rules made of Secrets is hidden, and what a Secret holds.
func (c *Change) Operations() ([]document.Operation, error) {
	was, err := document.Parse(c.original)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	is, err := document.Parse(c.current)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	if err := transform(was.Root(), is.Root()); err != nil {
		return nil, fmt.Errorf("comparing the object: %w", err)
	}
	operations := slices.DeleteFunc(was.Operations(), func(o document.Operation) bool {
		return serverSide[strings.ReplaceAll(strings.TrimPrefix(o.Path, "/"), "/", ".")] || strings.HasPrefix(o.Path, "/status/")
	})
	if err := cmp.Or(was.Err(), is.Err()); err != nil {
		return nil, fmt.Errorf("comparing the object: %w", err)
	}
	cover := c.veil.cover()
	for i, operation := range operations {
		operations[i].Path = cover.text(operation.Path)
		if operation.Value == nil {
			continue
		}
		path, named := namedPath(is.Root(), operation)
		if !named {
			path = pathOf(operation.Path)
		}
		if operations[i].Value, err = cover.object(path, operation.Value, !named); err != nil {
			return nil, err
		}
		if c.isSecret() {
			path := strings.ReplaceAll(strings.TrimPrefix(operation.Path, "/"), "/", ".")
			if operations[i].Value, err = c.concealed(path, operations[i].Value); err != nil {
				return nil, err
			}
		}
	}
	return operations, nil
}

// pathOf is a JSON pointer as a path.
func pathOf(pointer string) string {
	return strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/"))
}

// namedPath is the path, as lines have it, of what an operation writes, with the names of items; false where the object, as it is now, has
// something else there.
func namedPath(root *document.Node, operation document.Operation) (string, bool) {
	written, err := document.Parse(operation.Value)
	if err != nil || !root.At(operation.Path).Equal(written.Root()) {
		return "", false
	}
	path, n := "", root
	for token := range strings.SplitSeq(strings.TrimPrefix(operation.Path, "/"), "/") {
		if n.Kind() == document.Array {
			index, err := strconv.Atoi(token)
			if err != nil || index >= n.Len() {
				return "", false
			}
			var items []any
			if json.Unmarshal(n.Raw(), &items) != nil {
				return "", false
			}
			path, n = path+"["+namesOf(path, items)[index]+"]", n.Item(index)
			continue
		}
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		path, n = strings.TrimPrefix(path+"."+key, "."), n.Get(key)
	}
	return path, true
}

// Patch writes for each object that changed or was denied a comment that says which it is, and the patch as a JSON list with an
// operation a line; "---" stands between two. The style makes no difference.
func (s Style) Patch(w io.Writer, changes ...*Change) error {
	var out bytes.Buffer
	for _, change := range changes {
		operations, err := change.Operations()
		if err != nil {
			return fmt.Errorf("%s %s: %w", change.Kind, change.Name, err)
		}
		if len(operations) == 0 && change.Denied == nil {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		patch(&out, change, operations)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func patch(out *bytes.Buffer, c *Change, operations []document.Operation) {
	name := scalarText(c.Name)
	if c.Namespace != "" {
		name = scalarText(c.Namespace) + "/" + name
	}
	version := ""
	if c.APIVersion != "" {
		version = scalarText(c.APIVersion) + " "
	}
	fmt.Fprintf(out, "# %s%s %s\n", version, scalarText(c.Kind), name)
	if c.Scene != "" {
		fmt.Fprintf(out, "# of %s\n", oneLine(c.Scene))
	}
	if c.Denied != nil {
		for line := range strings.Lines("denied: " + c.Denial()) {
			fmt.Fprintf(out, "# %s\n", strings.TrimSpace(line))
		}
	}
	out.WriteByte('[')
	for i, operation := range operations {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n  {\"op\": %q, \"path\": %s", operation.Op, document.Quote(operation.Path))
		if operation.Value != nil {
			fmt.Fprintf(out, ", \"value\": %s", operation.Value)
		}
		out.WriteByte('}')
	}
	if len(operations) > 0 {
		out.WriteByte('\n')
	}
	out.WriteString("]\n")
}
