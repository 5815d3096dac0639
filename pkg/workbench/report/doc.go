// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package report writes what a comparison has found as one HTML file that can be sent around: it loads nothing, works without
// JavaScript, on a phone and on paper, and the same Page gives the same bytes.
//
// It knows nothing of objects, profiles or rules but their names: render and compare say what is to be shown, as a Page of plain
// texts, and everything in it is escaped here. Enter at Page and Page.Write.
package report
