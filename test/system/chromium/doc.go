// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package chromium drives a headless Chromium for tests: it opens pages as a phone or a desktop shows them, runs
// JavaScript in them, takes pictures, and knows what they loaded and complained about.
//
// It speaks the DevTools protocol over the pipe that Chromium has for it, with the standard library alone: the few
// methods that are needed do not weigh up the two hundred packages of a general client. Enter at Start.
package chromium
