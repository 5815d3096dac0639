#!/bin/sh
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Acme knows a machine by the first part of its name.
hostnamectl set-hostname "$(hostname | cut -d . -f 1)"
