// Fails when a package reaches where it must not: see boundaries/rules.mjs. Prints `file:line message` per violation.
// Usage: node .scripts/check-boundaries.mjs [--root DIR]
import path from 'node:path'
import { parseArgs } from 'node:util'
import { rules } from './boundaries/rules.mjs'
import { readRootManifest, readWorkspace } from './boundaries/workspace.mjs'

const { values } = parseArgs({ options: { root: { type: 'string' } } })
const root = path.resolve(values.root ?? path.join(import.meta.dirname, '..'))
const workspace = readWorkspace(root)
if (workspace.length === 0) throw new Error(`no package in ${root}: is pnpm-workspace.yaml what it was?`)
const manifest = readRootManifest(root)
const violations = workspace.flatMap(pkg => rules.flatMap(rule => rule(pkg, workspace, manifest)))

for (const { file, line, message } of violations) console.log(`${file.path}:${line} ${message}`)
if (violations.length > 0) {
  process.exitCode = 1
} else {
  const files = workspace.reduce((sum, pkg) => sum + pkg.files.length, 0)
  console.log(`Boundaries hold: ${workspace.length} packages, ${files} files`)
}
