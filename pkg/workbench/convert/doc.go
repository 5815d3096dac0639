// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert proposes a profile for what a webhook does: it compares objects before and after the webhook, finds for each
// difference the operation that says it best, and tries the profile out on the objects before.
//
// What differs becomes atoms: one argument of one operation each. Atoms of several control planes are put together, with a
// condition where one tells those apart that have them. A profile is proposed only as far as the engine takes it; what it refuses
// stands behind the rules as a comment, and what does not come out as it should is reported.
//
// It reads no files. Enter at Propose.
package convert
