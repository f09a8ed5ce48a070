#!/usr/bin/env node
// Writes down how it was called, and answers.
import { writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const stdin = await text(process.stdin)
const file = path.join(process.env.HOME, 'invocation.json')
writeFileSync(
  file,
  JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), stdin, env: process.env }),
)
writeSync(
  1,
  `${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'Noted.', session_id: 's' })}\n`,
)
