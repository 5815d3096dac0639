// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Reads a PowerShell script with the grammar of tree-sitter, and fails with the places that it cannot read.
import { readFileSync } from "node:fs";
import { Language, Parser } from "web-tree-sitter";

await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load("node_modules/tree-sitter-powershell/tree-sitter-powershell.wasm"));
const script = readFileSync(process.argv[2], "utf8");
const root = parser.parse(script).rootNode;

const wrong = [];
const walk = (node) => {
  if (node.isError || node.isMissing) {
    wrong.push(node);
  }
  node.children.forEach(walk);
};
walk(root);
for (const node of wrong) {
  const { row, column } = node.startPosition;
  console.error(`${row + 1}:${column + 1}: ${node.isMissing ? "missing " + node.type : "cannot be read"}: ${script.split("\n")[row]}`);
}
process.exit(wrong.length > 0 || root.childCount === 0 ? 1 : 0);
