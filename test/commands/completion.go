// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Interactive is a shell in which users press the tab key.
type Interactive struct {
	// Name is the shell's name for `graft completion`.
	Name string
	// Command starts the shell without the user's own settings.
	Command []string
	// Setup sets the prompt to "ready>" and loads the completion.
	Setup string
}

// Bash returns bash without the package bash-completion.
func Bash() Interactive {
	return Interactive{Name: "bash", Command: []string{"bash", "--noprofile", "--norc", "-i"}, Setup: bashSetup}
}

// BashCompletion returns bash with the package bash-completion.
func BashCompletion() Interactive {
	return Interactive{
		Name: "bash", Command: []string{"bash", "--noprofile", "--norc", "-i"},
		Setup: ". /usr/share/bash-completion/bash_completion; " + bashSetup,
	}
}

const bashSetup = `bind 'set enable-bracketed-paste off'; bind 'set show-all-if-ambiguous on'; ` +
	"bind 'set page-completions off'; " +
	`bind 'set completion-query-items 0'; bind 'set bell-style none'; . <(graft completion bash); PS1='ready> '`

// Zsh returns zsh with its own completion system enabled.
func Zsh() Interactive {
	return Interactive{
		Name: "zsh", Command: []string{"zsh", "-f", "-i"},
		Setup: `unsetopt beep prompt_cr prompt_sp; autoload -U compinit; compinit -u -D; ` +
			`zstyle ':completion:*' menu no; LISTMAX=1000; ` +
			`source <(graft completion zsh); PS1='ready> '`,
	}
}

// Fish returns fish.
func Fish() Interactive {
	return Interactive{
		Name: "fish", Command: []string{"fish", "--no-config", "-i"},
		Setup: `function fish_prompt; echo 'ready> '; end; graft completion fish | source; function fish_greeting; end`,
	}
}

// patience is the maximum time for one response of a shell.
const patience = time.Minute

// Completion is a command line with the completions that a shell offers for it.
type Completion struct {
	// Line is the text before the tab key. Offers must be on the screen afterwards, and Not must not.
	Line        string
	Offers, Not []string
}

// Completions reads cases.
func Completions(path string) ([]Completion, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the completions: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var out []Completion
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("reading the completions: %w", err)
	}
	return out, nil
}

// Complete starts the shell in a folder, types the line, presses the tab key twice, and waits until the screen shows
// all expected completions. It returns the screen.
func (i Interactive) Complete(ctx context.Context, folder, bin string, c Completion) (screen string, err error) {
	command := exec.CommandContext(ctx, i.Command[0], i.Command[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TERM=xterm", "LC_ALL=C.UTF-8", "HOME="+folder,
		"PS1=start> ")
	terminal, err := Open(command, 160)
	if err != nil {
		return "", err
	}
	defer func() {
		_ = command.Process.Kill()
		_, closeErr := terminal.Close(patience)
		err = errors.Join(err, closeErr)
	}()
	// The typed text differs from the printed text, so that Wait does not match the input.
	if err := terminal.Type(i.Setup + "; echo load''ed\r"); err != nil {
		return "", err
	}
	if !terminal.Wait("loaded", patience) || !terminal.Wait("ready>", patience) {
		return "", fmt.Errorf("%s does not come up; the screen:\n%s", i.Name, terminal.Screen())
	}
	if err := terminal.Type(c.Line + "\t\t"); err != nil {
		return "", err
	}
	return await(terminal, i.Name, c)
}

// await waits until the text after the prompt shows the expected completions.
func await(terminal *Terminal, name string, c Completion) (string, error) {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		screen := terminal.Screen()
		if _, behind, found := strings.Cut(screen, "\nready>"); found {
			screen = behind
		}
		missing := ""
		for _, offer := range c.Offers {
			if !strings.Contains(screen, offer) {
				missing = offer
			}
		}
		if missing != "" && time.Now().Before(end) {
			continue
		}
		if missing != "" {
			return screen, fmt.Errorf("%s does not offer %q; the screen:\n%s", name, missing, screen)
		}
		for _, text := range c.Not {
			if strings.Contains(screen, text) {
				return screen, fmt.Errorf("%s offers %q; the screen:\n%s", name, text, screen)
			}
		}
		return screen, nil
	}
}
