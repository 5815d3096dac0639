// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Table is the whole table, as table.json holds it. hack/kubeflags makes it.
type Table struct {
	// Releases are the releases that were asked, one for each of Versions.
	Releases []string `json:"releases"`
	Versions []Minor  `json:"versions"`
	// Messages are those of deprecated flags, which many share.
	Messages []string `json:"messages"`
	// Flags are by component and name.
	Flags map[string]map[string]FlagRow `json:"flags"`
	// Gates are by component and name: a word for each version, see GateState.Word. Those that all components have alike stand
	// under "*".
	Gates map[string]map[string]string `json:"gates"`
	// Plugins are the admission plugins of kube-apiserver, by name.
	Plugins map[string]PluginHistory `json:"plugins"`
	// Fields are those of the KubeletConfiguration, by path.
	Fields map[string]FieldHistory `json:"fields"`
}

// FlagRow is a flag in the table.
type FlagRow struct {
	Span
	Type       string `json:"type"`
	Deprecated Minor  `json:"deprecated,omitempty"`
	// Message is the place of the message among Messages.
	Message int `json:"message,omitempty"`
}

// every is the name under which gates of all components stand.
const every = "*"

func (t *Table) gate(component, name string) (string, bool) {
	if line, ok := t.Gates[component][name]; ok {
		return line, true
	}
	line, ok := t.Gates[every][name]
	return line, ok && t.Flags[component] != nil
}

//go:embed table.json
var encoded []byte

// load decodes the table once. It is part of the program, so that a table that cannot be decoded is a mistake of the build.
var load = sync.OnceValue(func() *Table {
	var t Table
	if err := json.Unmarshal(encoded, &t); err != nil {
		panic(fmt.Errorf("decoding the table of flags: %w", err))
	}
	return &t
})
