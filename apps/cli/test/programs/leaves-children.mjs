#!/usr/bin/env node
// Answers, and leaves behind a child in its group and one that has left it.
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'

// What it is asked before a turn leaves nothing behind.
if (process.argv.includes('--version')) {
  console.log('2.1.325 (Claude Code)')
  process.exit(0)
}
if (process.argv.includes('--help')) process.exit(0)

const forever = ['-e', 'setInterval(() => {}, 1_000_000)']
const children = [false, true].map(detached =>
  spawn(process.execPath, forever, { stdio: 'ignore', detached }),
)
await Promise.all(children.map(child => new Promise(resolve => child.once('spawn', resolve))))
for (const child of children) child.unref()
writeSync(
  1,
  `${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'Done.', session_id: 's' })}\n`,
)
