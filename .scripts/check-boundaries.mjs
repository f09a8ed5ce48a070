// Fails when a package reaches where it must not (boundaries/rules.mjs) or a shape is over its limit (boundaries/shape.mjs).
// Prints `file:line message` per violation.
// Usage: node .scripts/check-boundaries.mjs [--root DIR] [--only reach|shape] [--figures [PACKAGE FOLDER] | --shrink]
import path from 'node:path'
import { parseArgs } from 'node:util'
import { rules } from './boundaries/rules.mjs'
import { printFigures, shapeViolations, shrinkKnown } from './boundaries/shape.mjs'
import { readRootManifest, readWorkspace } from './boundaries/workspace.mjs'

const { values, positionals } = parseArgs({
  options: {
    root: { type: 'string' },
    only: { type: 'string' },
    figures: { type: 'boolean' },
    shrink: { type: 'boolean' },
  },
  allowPositionals: true,
})
const root = path.resolve(values.root ?? path.join(import.meta.dirname, '..'))
const workspace = readWorkspace(root)
if (workspace.length === 0) throw new Error(`no package in ${root}: is pnpm-workspace.yaml what it was?`)
if (values.figures) printFigures(workspace, positionals[0])
else if (values.shrink) shrinkKnown(workspace, root)
else check()

function check() {
  const manifest = readRootManifest(root)
  const violations = [
    ...(values.only === 'shape'
      ? []
      : workspace.flatMap(pkg => rules.flatMap(rule => rule(pkg, workspace, manifest)))),
    ...(values.only === 'reach' ? [] : shapeViolations(workspace, root)),
  ]
  for (const { file, line, message } of violations) console.log(`${file.path}:${line} ${message}`)
  if (violations.length > 0) {
    process.exitCode = 1
  } else {
    const files = workspace.reduce((sum, pkg) => sum + pkg.files.length, 0)
    console.log(`Boundaries hold: ${workspace.length} packages, ${files} files`)
  }
}
