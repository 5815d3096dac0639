// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ErrMissing means that there is no Chromium; hack/system/packages.sh installs it.
var ErrMissing = errors.New("no chromium in PATH: run hack/system/packages.sh as root")

// Browser is a running Chromium.
type Browser struct {
	*connection
	command *exec.Cmd
	folder  string
	pipes   []*os.File
}

// Start starts a browser with an empty profile of its own. Close ends it.
func Start(ctx context.Context) (*Browser, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, ErrMissing
	}
	folder, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the browser: %w", err)
	}
	b := &Browser{folder: folder}
	if err := b.letters(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := b.start(ctx, program); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the browser: %w", err), b.Close())
	}
	return b, nil
}

// start runs the browser with its end of the pipes as files 3 and 4.
func (b *Browser) start(ctx context.Context, program string) error {
	commands, out, err := os.Pipe()
	if err != nil {
		return err
	}
	in, answers, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close(), out.Close())
	}
	b.pipes = []*os.File{out, in}
	b.command = exec.CommandContext(ctx, program, arguments(b.folder)...)
	b.command.ExtraFiles = []*os.File{commands, answers}
	b.command.Env = append(os.Environ(), "HOME="+b.folder, "XDG_CONFIG_HOME="+filepath.Join(b.folder, ".config"))
	b.command.WaitDelay = 10 * time.Second
	if err := errors.Join(b.command.Start(), commands.Close(), answers.Close()); err != nil {
		return err
	}
	b.connection = connect(out, in)
	return nil
}

// fonts are the letters of the system's own fonts, so that pictures look the same whichever else are installed.
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<alias binding="same"><family>system-ui</family><prefer><family>Roboto</family></prefer></alias>
<alias binding="same"><family>sans-serif</family><prefer><family>Roboto</family></prefer></alias>
<alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`

// letters writes the configuration of the fonts into the browser's home.
func (b *Browser) letters() error {
	folder := filepath.Join(b.folder, ".config", "fontconfig")
	if err := errors.Join(os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "fonts.conf"), []byte(fonts), 0o600)); err != nil {
		return fmt.Errorf("choosing the browser's fonts: %w", err)
	}
	return nil
}

// arguments start a browser that calls nobody by itself. Its sandbox wants a user other than root, and what it is shown
// here are pages of our own.
func arguments(folder string) []string {
	return []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + folder, "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
		"--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync",
		"--metrics-recording-only",
		"--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en-US", "about:blank",
	}
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	if b.connection != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if b.call(ctx, "", "Browser.close", struct{}{}, nil) != nil {
			_ = b.command.Process.Kill() // it has ended already, or does not answer
		}
		_ = b.command.Wait() // how it ended does not matter
	}
	for _, pipe := range b.pipes {
		_ = pipe.Close() // nothing was written that could be lost
	}
	err := os.RemoveAll(b.folder)
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); err = os.RemoveAll(b.folder) {
		// what the browser has started ends a moment later, and writes into its profile until then
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
