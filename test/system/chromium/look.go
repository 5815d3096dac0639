// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"context"
	"encoding/json"
	"fmt"
)

// Evaluate runs an expression in the page and reads its value, which must have a form in JSON. A promise is waited for.
func (p *Page) Evaluate(ctx context.Context, expression string, into any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	params := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if err := p.call(ctx, "Runtime.evaluate", params, &answer); err != nil {
		return err
	}
	if thrown := answer.ExceptionDetails; thrown != nil {
		return fmt.Errorf("evaluating %s: %s %s", expression, thrown.Text, thrown.Exception.Description)
	}
	if into == nil || answer.Result.Value == nil { // undefined has no value
		return nil
	}
	if err := json.Unmarshal(answer.Result.Value, into); err != nil {
		return fmt.Errorf("reading the value of %s: %w", expression, err)
	}
	return nil
}

// Picture is what the window shows, as a PNG.
func (p *Page) Picture(ctx context.Context) ([]byte, error) {
	var answer struct{ Data []byte }
	if err := p.call(ctx, "Page.captureScreenshot", map[string]any{"format": "png"}, &answer); err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// Print is the page on paper, as a PDF.
func (p *Page) Print(ctx context.Context) ([]byte, error) {
	var answer struct{ Data []byte }
	if err := p.call(ctx, "Page.printToPDF", map[string]any{"printBackground": false}, &answer); err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// Key presses a key, such as Tab.
func (p *Page) Key(ctx context.Context, key string) error {
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key]}
		if err := p.call(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// keyCodes are the numbers of the keys that tests press.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13}
