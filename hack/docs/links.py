# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0
"""Leaves Go files out of the site, and lets links of pages that leave docs/ lead to the repository."""

import posixpath
import re

# A link of Markdown: its text, its target, its fragment.
LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?\)")


def on_files(files, config):
    """Returns the files of the site. Go files in it would be a package of the module."""
    for file in list(files):
        if file.src_path.endswith(".go"):
            files.remove(file)
    return files


def on_page_markdown(markdown, page, config, files, **_):
    """Returns the page with absolute addresses for files outside docs/ and for folders."""
    folder = posixpath.dirname(page.file.src_path)
    pages = {file.src_path for file in files}

    def replace(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if path.startswith("docs/") and path[len("docs/"):] in pages:
            return match[0]
        return f"{match[1]}{config.repo_url.rstrip('/')}/blob/main/{path}{match[3] or ''})"

    return LINK.sub(replace, markdown)
