// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package report writes the result of a comparison as one self-contained HTML file: it loads no resources, works
// without JavaScript, on phones and on paper, and the same Page produces the same bytes.
//
// It knows objects, profiles and rules only by name: render and compare provide a Page of plain texts, which are all
// escaped here. Start reading at Page and Page.Write.
package report
