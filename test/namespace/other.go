// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package namespace

func again(Options) (int, error) { return 1, ErrRefused }

func enter(Options) error { return ErrRefused }
