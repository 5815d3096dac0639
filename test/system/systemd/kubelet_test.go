// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

const (
	// kubeletVariable has the path of the file for the exit status of the guest.
	kubeletVariable = "GRAFT_KUBELET_GUEST"
	// kubeletProgram is a script in the guest. It appends a line to commandsFile, with NUL behind each argument.
	kubeletProgram = "/opt/bin/kubelet"
	commandsFile   = "/run/commands"
)

// attempt is an edit of an OperatingSystemConfig that may change the kubelet's command.
type attempt struct {
	Name string `json:"name"`
	// Given are files before the edit.
	Given map[string]string `json:"given"`
	// Provision removes the kubelet's unit, which Gardener adds later.
	Provision bool `json:"provision"`

	// Replace replaces texts in the kubelet's unit.
	Replace map[string]string `json:"replace"`
	// DropIns are added to the kubelet's unit, by name.
	DropIns map[string]string `json:"dropIns"`
	// Files and Base64 are added, by path.
	Files  map[string]string `json:"files"`
	Base64 map[string][]byte `json:"base64"`
	// Units are written before the kubelet's unit, by name.
	Units map[string]string `json:"units"`

	// Answer is a part of the expected error, or "accepted".
	Answer string `json:"answer"`
	// Command says whether the program and the reserved flags that systemd runs are "same" or "changed".
	Command string `json:"command"`
}

// node is the part of an OperatingSystemConfig that gardener-node-agent writes to a node.
type node struct {
	Units []unitOfNode `json:"units"`
	Files []fileOfNode `json:"files"`
}

type unitOfNode struct {
	Name    string       `json:"name"`
	Content string       `json:"content"`
	DropIns []unitOfNode `json:"dropIns,omitempty"`
}

type fileOfNode struct {
	Path    string  `json:"path"`
	Content content `json:"content"`
}

type content struct {
	Inline   *inline           `json:"inline,omitempty"`
	ImageRef map[string]string `json:"imageRef,omitempty"`
}

type inline struct {
	Encoding string `json:"encoding"`
	Data     string `json:"data"`
}

var _ = Describe("the contract of the kubelet's command", func() {
	// kubeletGuest runs inside the machine.
	It("accepts no edit with which systemd runs another program or other reserved flags", func(ctx context.Context) {
		raw, err := os.ReadFile(filepath.Join("testdata", "kubelet.yaml"))
		Expect(err).NotTo(HaveOccurred())
		var table struct {
			Unit     string    `json:"unit"`
			Attempts []attempt `json:"attempts"`
		}
		Expect(yaml.UnmarshalStrict(raw, &table)).To(Succeed())
		nodes := map[string]node{} // by their JSON
		type pair struct{ before, after string }
		pairs := make([]pair, len(table.Attempts))
		answers := make([]error, len(table.Attempts))
		for i, a := range table.Attempts {
			before, after := a.apply(table.Unit)
			answers[i] = protect(before, after, a.Provision)
			pairs[i] = pair{add(nodes, before), add(nodes, after)}
		}
		commands := runCommands(ctx, nodes)
		var wrong error
		for i, a := range table.Attempts {
			before, after := commands[pairs[i].before], commands[pairs[i].after]
			if err := a.check(answers[i], before, after); err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %w\nthe contract: %v\nbefore: %q\nafter:  %q",
					a.Name, err, answers[i], before, after))
			}
		}
		Expect(wrong).NotTo(HaveOccurred())
	}, NodeTimeout(15*time.Minute))
})

// check compares the contract's answer and the commands of systemd with the expected ones.
func (a *attempt) check(answer error, before, after [][]string) error {
	changed := !slices.Equal(reserved(before), reserved(after))
	switch {
	case len(before) == 0:
		return errors.New("systemd does not run the kubelet before the edit")
	case answer == nil && changed:
		return errors.New("the contract accepts another command")
	case answer == nil && a.Answer != "accepted", answer != nil && !strings.Contains(answer.Error(), a.Answer):
		return fmt.Errorf("the answer is not %q", a.Answer)
	case changed != (a.Command == "changed"):
		return fmt.Errorf("the command is not %q", a.Command)
	}
	return nil
}

// apply returns an OperatingSystemConfig before and after the edit.
func (a *attempt) apply(unit string) (before, after node) {
	given := map[string]string{"/etc/environment": "LANG=C\n", target.KubeletConfigurationPath: "x"}
	maps.Copy(given, a.Given)
	program := fileOfNode{Path: kubeletProgram, Content: content{ImageRef: map[string]string{"image": "x"}}}
	before.Files = append(files(given), program)
	before.Units = []unitOfNode{{Name: target.KubeletUnit, Content: unit}}

	after.Files = slices.Concat(before.Files, files(a.Files))
	for _, path := range slices.Sorted(maps.Keys(a.Base64)) {
		after.Files = append(after.Files, inlineFile(path, a.Base64[path]))
	}
	for _, old := range slices.Sorted(maps.Keys(a.Replace)) {
		Expect(unit).To(ContainSubstring(old), a.Name)
		unit = strings.ReplaceAll(unit, old, a.Replace[old])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Units)) {
		after.Units = append(after.Units, unitOfNode{Name: name, Content: a.Units[name]})
	}
	kubelet := unitOfNode{Name: target.KubeletUnit, Content: unit}
	for _, name := range slices.Sorted(maps.Keys(a.DropIns)) {
		kubelet.DropIns = append(kubelet.DropIns, unitOfNode{Name: name, Content: a.DropIns[name]})
	}
	after.Units = append(after.Units, kubelet)
	return before, after
}

func files(texts map[string]string) []fileOfNode {
	var out []fileOfNode
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, inlineFile(path, []byte(texts[path])))
	}
	return out
}

// inlineFile returns a file in base64, because JSON holds only valid UTF-8.
func inlineFile(path string, data []byte) fileOfNode {
	encoded := base64.StdEncoding.EncodeToString(data)
	return fileOfNode{Path: path, Content: content{Inline: &inline{Encoding: "b64", Data: encoded}}}
}

// protect returns the error of the contract for an edit by a rule without an override.
func protect(before, after node, provision bool) error {
	GinkgoHelper()
	if provision {
		before.Units, after.Units = nil, nil
	}
	object, err := json.Marshal(map[string]any{"metadata": map[string]string{"name": "x"}, "spec": before})
	Expect(err).NotTo(HaveOccurred())
	parsed, err := document.Parse(object)
	Expect(err).NotTo(HaveOccurred())
	edited, err := json.Marshal(after)
	Expect(err).NotTo(HaveOccurred())
	_, err = parsed.Root().Set("spec", edited)
	Expect(err).NotTo(HaveOccurred())
	found, _ := target.Lookup("node")
	return contract.Protect(&target.Object{Target: found, Form: &found.Forms[0], Document: parsed}, contract.Today,
		func(string) bool { return false })
}

// add adds a node to a set and returns its key.
func add(nodes map[string]node, n node) string {
	GinkgoHelper()
	key, err := json.Marshal(n)
	Expect(err).NotTo(HaveOccurred())
	nodes[string(key)] = n
	return string(key)
}

// runCommands returns the commands that systemd runs for the kubelet's unit on each node.
func runCommands(ctx context.Context, nodes map[string]node) map[string][][]string {
	GinkgoHelper()
	keys := slices.Sorted(maps.Keys(nodes))
	list := make([]node, len(keys))
	for i, key := range keys {
		list[i] = nodes[key]
	}
	raw, err := json.Marshal(list)
	Expect(err).NotTo(HaveOccurred())
	input := filepath.Join(GinkgoT().TempDir(), "nodes.json")
	Expect(os.WriteFile(input, raw, 0o600)).To(Succeed())
	output := bootGuest(ctx, uml.Job{Command: []string{"kubelet.sh"},
		Files: map[string]string{"kubelet.sh": filepath.Join("testdata", "kubelet.sh"), "nodes.json": input}})
	commands := map[string][][]string{}
	for line := range strings.Lines(output) {
		var run [][]string
		if json.Unmarshal([]byte(line), &run) == nil {
			commands[keys[len(commands)]] = run
		}
	}
	Expect(commands).To(HaveLen(len(keys)), "the guest has run the kubelet on every node: %s", output)
	return commands
}

// reserved returns the programs of commands and the values of the reserved flags.
func reserved(commands [][]string) []string {
	kubelet, _ := target.Lookup("kubelet")
	var out []string
	for _, command := range commands {
		out = append(out, command[0])
		tokens := make([]commandline.Token, len(command))
		for i, argument := range command {
			tokens[i] = commandline.Token{Text: argument, Index: int32(i)}
		}
		flags, _ := commandline.ParseFlags(nil, tokens)
		for _, f := range flags {
			if _, ok := contract.ReservedFlag(kubelet, f.Name); ok {
				out = append(out, "--"+f.Name+"="+f.Value)
			}
		}
	}
	return out
}

// kubeletGuest prints one line for each node: the commands of its kubelet as JSON.
func kubeletGuest() error {
	raw, err := os.ReadFile("nodes.json")
	if err != nil {
		return err
	}
	var nodes []node
	if err := json.Unmarshal(raw, &nodes); err != nil {
		return err
	}
	for i, n := range nodes {
		commands, err := n.run()
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		line, err := json.Marshal(commands)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", line)
	}
	return nil
}

// run writes the files and units as gardener-node-agent does, starts the kubelet, and removes them.
func (n *node) run() (commands [][]string, err error) {
	var written []string
	write := func(path string, data []byte) error {
		written = append(written, path)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644))
	}
	// The manager forgets its variables only if it is executed again.
	reload := "daemon-reload"
	defer func() {
		for _, path := range written {
			if failed := os.Remove(path); !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
		err = errors.Join(err, removeAliases())
		if reload != "daemon-reload" {
			err = errors.Join(err, systemctl(reload))
		}
	}()
	for _, f := range n.Files {
		if f.Content.Inline == nil {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(f.Content.Inline.Data)
		if err := errors.Join(err, write(f.Path, data)); err != nil {
			return nil, err
		}
		if strings.Contains(f.Path, "/system.conf") {
			reload = "daemon-reexec"
		}
	}
	for _, u := range n.Units {
		path := "/etc/systemd/system/" + u.Name
		if err := write(path, []byte(u.Content)); err != nil {
			return nil, err
		}
		for _, d := range u.DropIns {
			if err := write(path+".d/"+d.Name, []byte(d.Content)); err != nil {
				return nil, err
			}
		}
		if strings.Contains(fmt.Sprint(u), "Alias") {
			_ = systemctl("enable", "--no-reload", "--force", u.Name) // it fails for an alias that is the unit of another file
		}
	}
	if err := systemctl(reload); err != nil {
		return nil, err
	}
	_ = systemctl("start", target.KubeletUnit) // without a command it fails
	return readCommands()
}

// removeAliases removes the links of enabled units.
func removeAliases() error {
	links, err := os.ReadDir("/etc/systemd/system")
	for _, link := range links {
		path := "/etc/systemd/system/" + link.Name()
		if to, failed := os.Readlink(path); failed == nil && to != os.DevNull {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// readCommands returns the commands in commandsFile and removes it.
func readCommands() ([][]string, error) {
	commands := [][]string{}
	text, err := os.ReadFile(commandsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return commands, nil
	}
	for line := range strings.Lines(string(text)) {
		commands = append(commands, strings.Split(strings.TrimSuffix(line, "\x00\n"), "\x00"))
	}
	return commands, errors.Join(err, os.Remove(commandsFile))
}
