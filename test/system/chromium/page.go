// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// View is how a page is looked at.
type View struct {
	// Width and Height are in CSS pixels; Scale is the number of device pixels to one.
	Width, Height int
	Scale         float64
	// Phone has a touch screen, and keeps to the page's viewport; Dark prefers dark colours; NoScript runs no JavaScript.
	Phone, Dark, NoScript bool
}

// Page is an open page.
type Page struct {
	browser *Browser
	session string
	loaded  chan string // which document

	mutex                sync.Mutex
	requests, complaints []string
}

// Open opens a page and waits until it has loaded.
func (b *Browser) Open(ctx context.Context, url string, view View) (*Page, error) {
	var target struct{ TargetID string }
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	attach := map[string]any{"targetId": target.TargetID, "flatten": true}
	if err := b.call(ctx, "", "Target.attachToTarget", attach, &attached); err != nil {
		return nil, err
	}
	p := &Page{browser: b, session: attached.SessionID, loaded: make(chan string, 8)}
	b.listen(p.session, p.event)
	if err := p.prepare(ctx, view); err != nil {
		return nil, err
	}
	var navigated struct{ ErrorText, LoaderID string }
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &navigated); err != nil {
		return nil, err
	}
	if navigated.ErrorText != "" {
		return nil, fmt.Errorf("opening %s: %s", url, navigated.ErrorText)
	}
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s to load: %w", url, ctx.Err())
		case <-b.gone:
			return nil, errGone
		case which := <-p.loaded:
			if which == navigated.LoaderID { // and not the empty document that was there before
				return p, nil
			}
		}
	}
}

// prepare switches on what is listened to, and sets how the page is looked at.
func (p *Page) prepare(ctx context.Context, view View) error {
	scheme := "light"
	if view.Dark {
		scheme = "dark"
	}
	for _, command := range []struct {
		method string
		params any
	}{
		{"Page.enable", struct{}{}}, {"Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}},
		{"Runtime.enable", struct{}{}}, {"Log.enable", struct{}{}}, {"Network.enable", struct{}{}},
		{"Emulation.setDeviceMetricsOverride", map[string]any{
			"width": view.Width, "height": view.Height, "deviceScaleFactor": view.Scale, "mobile": view.Phone,
		}},
		{"Emulation.setTouchEmulationEnabled", map[string]any{"enabled": view.Phone}},
		{"Emulation.setScriptExecutionDisabled", map[string]any{"value": view.NoScript}},
		{"Emulation.setEmulatedMedia", map[string]any{"features": []any{
			map[string]any{"name": "prefers-color-scheme", "value": scheme},
		}}},
	} {
		if err := p.call(ctx, command.method, command.params, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) call(ctx context.Context, method string, params, result any) error {
	return p.browser.call(ctx, p.session, method, params, result)
}

// event remembers what the page loads and complains about.
func (p *Page) event(m message) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch m.Method {
	case "Page.lifecycleEvent":
		var event struct{ LoaderID, Name string }
		if json.Unmarshal(m.Params, &event) != nil || event.Name != "load" {
			return
		}
		select {
		case p.loaded <- event.LoaderID:
		default: // nobody waits
		}
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		_ = json.Unmarshal(m.Params, &sent) // what cannot be read is an empty address, and found
		p.requests = append(p.requests, sent.Request.URL)
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
		p.complaints = append(p.complaints, string(m.Params))
	}
}

// Requests are the addresses that the page has loaded, beginning with its own.
func (p *Page) Requests() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]string(nil), p.requests...)
}

// Complaints are all messages on the console, as the browser reports them.
func (p *Page) Complaints() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]string(nil), p.complaints...)
}
