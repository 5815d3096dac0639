// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package commandline edits flags in place.
//
// CommandLineOf reads command and args of a container as one list of flags. MapValue and ListValue read the value of a
// flag as a map or a set. Elements that are not edited keep their place and spelling.
//
// Tokens, flags and plans of edits are exported for other places that hold command lines, such as units of systemd. The
// package knows nothing of kinds of Kubernetes. Start reading at CommandLineOf.
package commandline
